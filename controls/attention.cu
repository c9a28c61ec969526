// Attention by a warp per query, its scores in shared memory.
/*@plan
require(out.ndim <= 4)
queries, depth = query.shape[-2], query.shape[-1]
keys, width = key.shape[-2], value.shape[-1]
heads = out.shape[-3] if out.ndim >= 3 else 1
key_share = heads // key.shape[-3] if enable_gqa else 1
value_share = heads // value.shape[-3] if enable_gqa else 1

q_head = query.stride[-3] if query.ndim >= 3 and query.shape[-3] > 1 else 0
q_batch = query.stride[-4] if query.ndim >= 4 and query.shape[-4] > 1 else 0
k_head = key.stride[-3] if key.ndim >= 3 and key.shape[-3] > 1 else 0
k_batch = key.stride[-4] if key.ndim >= 4 and key.shape[-4] > 1 else 0
v_head = value.stride[-3] if value.ndim >= 3 and value.shape[-3] > 1 else 0
v_batch = value.stride[-4] if value.ndim >= 4 and value.shape[-4] > 1 else 0

m_batch, m_head, m_row, m_column = 0, 0, 0, 0
if has(attn_mask):
    define("MASK", 1 if attn_mask.dtype == "bool" else 2)
    m_column = attn_mask.stride[-1] if attn_mask.ndim >= 1 and attn_mask.shape[-1] > 1 else 0
    m_row = attn_mask.stride[-2] if attn_mask.ndim >= 2 and attn_mask.shape[-2] > 1 else 0
    m_head = attn_mask.stride[-3] if attn_mask.ndim >= 3 and attn_mask.shape[-3] > 1 else 0
    m_batch = attn_mask.stride[-4] if attn_mask.ndim >= 4 and attn_mask.shape[-4] > 1 else 0
else:
    define("MASK", 0)

rows = out.numel // max(width, 1)
factor = f32(0) if scale == None else f32(scale)
launch("attention", grid=rows, block=32, smem=4 * keys,
       args=[query, key, value, attn_mask, out, queries, keys, depth, width, heads, key_share,
             value_share, q_batch, q_head, query.stride[-2], query.stride[-1], k_batch, k_head,
             key.stride[-2], key.stride[-1], v_batch, v_head, value.stride[-2], value.stride[-1],
             m_batch, m_head, m_row, m_column, is_causal, scale == None, factor])
@*/

#if MASK == 2
using Mask = T_attn_mask;
#else
using Mask = bool;
#endif

// Keeps a NaN, which makes the whole row NaN.
__device__ float larger(float a, float b) { return b > a || b != b ? b : a; }

extern "C" __global__ void __launch_bounds__(32) attention(
    const T_query* __restrict__ query, const T_key* __restrict__ key,
    const T_value* __restrict__ value, const Mask* __restrict__ mask, T_out* __restrict__ out,
    int queries, int keys, int depth, int width, int heads, int key_share, int value_share,
    long long q_batch, long long q_head, long long q_row, long long q_column, long long k_batch,
    long long k_head, long long k_row, long long k_column, long long v_batch, long long v_head,
    long long v_row, long long v_column, long long m_batch, long long m_head, long long m_row,
    long long m_column, bool causal, bool by_depth, float scale) {
    extern __shared__ float scores[];
    const int row = blockIdx.x % queries;
    const int head = blockIdx.x / queries % heads;
    const int batch = blockIdx.x / queries / heads;
    query += batch * q_batch + head * q_head + row * q_row;
    key += batch * k_batch + head / key_share * k_head;
    value += batch * v_batch + head / value_share * v_head;
    mask += batch * m_batch + head * m_head + row * m_row;
    if (by_depth) {
        scale = 1.0f / sqrtf(static_cast<float>(depth));
    }

    float largest = -INFINITY;
    for (int j = threadIdx.x; j < keys; j += 32) {
        float score = 0.0f;
        for (int e = 0; e < depth; ++e) {
            const T_key k = key[j * k_row + e * k_column];
            score = fmaf(kg::to_float(query[e * q_column]), kg::to_float(k), score);
        }
        score *= scale;
        if (causal && j > row) {
            score = -INFINITY;
        }
#if MASK == 1
        if (!mask[j * m_column]) {
            score = -INFINITY;
        }
#elif MASK == 2
        score += kg::to_float(mask[j * m_column]);
#endif
        scores[j] = score;
        largest = larger(largest, score);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        largest = larger(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    }
    // A row that sees nothing is 0.
    const bool blind = largest == -INFINITY;
    float total = 0.0f;
    for (int j = threadIdx.x; j < keys; j += 32) {
        const float weight = blind ? 0.0f : expf(scores[j] - largest);
        scores[j] = weight;
        total += weight;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, offset);
    }
    __syncwarp();
    for (int column = threadIdx.x; column < width; column += 32) {
        float sum = 0.0f;
        for (int j = 0; j < keys; ++j) {
            const T_value v = value[j * v_row + column * v_column];
            sum = fmaf(scores[j], kg::to_float(v), sum);
        }
        const long long at = static_cast<long long>(blockIdx.x) * width + column;
        out[at] = kg::from_float<T_out>(blind ? 0.0f : sum / total);
    }
}
