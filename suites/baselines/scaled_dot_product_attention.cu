// Baseline of scaled_dot_product_attention: f16 and bf16 by tensor cores, single queries by a block each,
// the rest by a warp per query, its scores in shared memory.
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
heads_ = rows // max(queries, 1)
args_ = [query, key, value, attn_mask, out, queries, keys, depth, width, heads, key_share,
         value_share, q_batch, q_head, query.stride[-2], query.stride[-1], k_batch, k_head,
         key.stride[-2], key.stride[-1], v_batch, v_head, value.stride[-2], value.stride[-1],
         m_batch, m_head, m_row, m_column, is_causal, scale == None, factor,
         heads_]
aligned = query.stride[-1] == 1 and key.stride[-1] == 1 and value.stride[-1] == 1 and min(query.align, key.align, value.align) >= 16
wide = aligned and (query.stride[-2] | q_head | q_batch | key.stride[-2] | k_head | k_batch | value.stride[-2] | v_head | v_batch) % 8 == 0
padded = 64 if max(depth, width) <= 64 else 128 if max(depth, width) <= 128 else 256
# Tensor maps: four dimensions that do not overlap, and batches of the same size.
boxes = False
if cc == 90 and query.ndim == 4 and key.ndim == 4 and value.ndim == 4 and wide and (depth | width) % 8 == 0 and heads_ <= 65535:
    boxes = min(out.numel, keys, depth, width) > 0 and query.shape[0] == key.shape[0] and key.shape[0] == value.shape[0] and query.shape[1] == heads
    for t in [query, key, value]:
        for d in range(3):
            boxes = boxes and (t.shape[d] == 1 or t.stride[d] >= t.shape[3])
tensor_cores = query.dtype != "f32" and max(depth, width) <= 256
define("BF16", query.dtype == "bf16")
define("DEPTH", padded)
define("N_THREADS", 128)
if tensor_cores and queries == 1 and wide and (depth | width) % 8 == 0:
    define("KIND", 1)
    launch("attention_of_one", grid=rows, block=128, args=args_)
elif tensor_cores and boxes:
    define("KIND", 3)
    define("PRESCALE", has(attn_mask) or (scale != None and factor <= 0))
    keys_of = 128 if padded <= 128 else 64
    map_q = tensor_map(query, box=[1, 1, 128, 64], swizzle=128, l2=256)
    map_k = tensor_map(key, box=[1, 1, keys_of, 64], swizzle=128, l2=256)
    map_v = tensor_map(value, box=[1, 1, keys_of, 64], swizzle=128, l2=256)
    elements = max(depth, width)
    kernel = "attention_by_boxes<48, 64>" if elements <= 48 else "attention_by_boxes<64, 64>"
    if elements > 64:
        kernel = "attention_by_boxes<80, 96>" if elements <= 80 else "attention_by_boxes<96, 96>" if elements <= 96 else "attention_by_boxes<128, 128>"
    if elements > 128:
        kernel = "attention_by_boxes<160, 192>" if elements <= 160 else "attention_by_boxes<192, 192>" if elements <= 192 else "attention_by_boxes<256, 256>"
    launch(kernel, grid=(cdiv(queries, 128), heads_), block=384,
           smem=(128 + 4 * keys_of) * padded * 2,
           args=[map_q, map_k, map_v, attn_mask, out, queries, keys, depth, width, heads, heads // key.shape[-3],
                 heads // value.shape[-3], m_batch, m_head, m_row, m_column, is_causal, scale == None, factor])
elif tensor_cores:
    define("KIND", 2)
    launch("attention<16>" if wide else "attention<2>", grid=(cdiv(queries, 64), min(heads_, 65535), cdiv(heads_, 65535)),
           block=128, smem=192 * padded * 2, args=args_)
elif query.dtype == "f32" and padded <= 128 and queries > 1:
    define("KIND", 4)
    launch("attention_f32", grid=(cdiv(queries, 128), min(heads_, 65535), cdiv(heads_, 65535)), block=256,
           smem=4 * (132 * (padded + 64) + 68 * padded + 64 * padded), args=args_)
else:
    define("KIND", 0)
    launch("attention_by_query", grid=rows, block=32, smem=4 * keys, args=args_)
@*/

#if MASK == 2
using Mask = T_attn_mask;
#else
using Mask = bool;
#endif

#define ARGUMENTS                                                                                  \
    const T_query *__restrict__ query, const T_key *__restrict__ key,                              \
        const T_value *__restrict__ value, const Mask *__restrict__ mask, T_out *__restrict__ out, \
        int queries, int keys, int depth, int width, int heads, int key_share, int value_share,    \
        long long q_batch, long long q_head, long long q_row, long long q_column,                  \
        long long k_batch, long long k_head, long long k_row, long long k_column,                  \
        long long v_batch, long long v_head, long long v_row, long long v_column,                  \
        long long m_batch, long long m_head, long long m_row, long long m_column, bool causal,     \
        bool by_depth, float scale, int n_heads

constexpr float LOG2E = 1.4426950408889634f;

#if KIND == 2 || KIND == 3
#include "packed.cuh"
#endif

__device__ __forceinline__ float exp2_of(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Applies the masks to a score, in units of log 2.
__device__ __forceinline__ void masked(float& score, int q, int k, int queries, int keys,
                                       bool causal, const Mask* mask, long long m_row,
                                       long long m_column) {
    if (k >= keys || (causal && k > q)) {
        score = -INFINITY;
        return;
    }
#if MASK
    if (q < queries) {
        const Mask seen = mask[q * m_row + k * m_column];
#if MASK == 1
        score = seen ? score : -INFINITY;
#else
        score += kg::to_float(seen) * LOG2E;
#endif
    }
#endif
}

#if KIND == 1
#include "attention_of_one.cuh"
#elif KIND == 3
#include "attention_tma.cuh"
#elif KIND == 4
#include "attention_f32.cuh"
#elif KIND == 2
#include "attention_mma.cuh"
#else
// Keeps a NaN, which makes the whole row NaN.
__device__ float larger(float a, float b) { return b > a || b != b ? b : a; }

extern "C" __global__ void __launch_bounds__(32) attention_by_query(ARGUMENTS) {
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
#endif
