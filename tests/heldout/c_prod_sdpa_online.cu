/*@plan
@PLAN@
launch("attend", grid=out.numel // max(v, 1) * cdiv(v, 64), block=64, args=[q, kk, vv, mk, out, out.numel // max(v, 1), l, e, s, v, heads, hk, hv, given, factor, causal])
@*/

// Is key j seen by row i of head z, and its score.
__device__ bool seen(const T_attn_mask* mask, long long z, long long i, long long j, long long l, long long s, int causal) {
    if (causal && j > i) {
        return false;
    }
#if BOOLEAN
    return mask == nullptr || mask[(z * l + i) * s + j];
#else
    return true;
#endif
}

__device__ float score_of(const T_query* q, const T_key* k, const T_attn_mask* mask, long long z, long long i, long long j,
        long long l, long long s, long long e, float scale) {
    float dot = 0;
    for (long long t = 0; t < e; ++t) {
        dot = fmaf(kg::to_float(q[t]), kg::to_float(k[t]), dot);
    }
    float score = dot * scale;
#if !BOOLEAN
    if (mask != nullptr) {
        score += kg::to_float(mask[(z * l + i) * s + j]);
    }
#endif
    return score;
}

// Two warps per row and 64 columns, tiles of 64 keys, running maximum and sum.
extern "C" __global__ void attend(const T_query* q, const T_key* key, const T_value* value, const T_attn_mask* mask, T_out* out,
        long long rows, long long l, long long e, long long s, long long v, long long heads, long long hk, long long hv,
        int given, float factor, int causal) {
    __shared__ float scores[64];
    __shared__ bool visible[64];
    const long long parts = (v + 63) / 64;
    const long long row = blockIdx.x / parts;
    const long long col = blockIdx.x % parts * 64 + threadIdx.x;
    const long long i = row % l;
    const long long z = row / l;
    const T_query* qr = q + row * e;
    const T_key* ks = key + (z / heads * hk + z % heads / (heads / hk)) * s * e;
    const T_value* vs = value + (z / heads * hv + z % heads / (heads / hv)) * s * v;
    const float scale = given ? factor : 1.0f / sqrtf(static_cast<float>(e));
    const long long end = causal ? min(s, i + 1) : s;
    float largest = -INFINITY;
    float sum = 0;
    float acc = 0;
    for (long long j0 = 0; j0 < end; j0 += 64) {
        const long long mine = j0 + threadIdx.x;
        const bool sees = mine < end && seen(mask, z, i, mine, l, s, causal);
        visible[threadIdx.x] = sees;
        scores[threadIdx.x] = sees ? score_of(qr, ks + mine * e, mask, z, i, mine, l, s, e, scale) : -INFINITY;
        __syncthreads();  // the scores are there
        float top = largest;
        for (int t = 0; t < 64; ++t) {
            top = fmaxf(top, scores[t]);
        }
        const float shrink = largest == -INFINITY ? 0.0f : expf(largest - top);
        sum *= shrink;
        acc *= shrink;
        largest = top;
        for (int t = 0; t < 64 && j0 + t < end; ++t) {
            if (!visible[t]) {
                continue;
            }
            const float weight = scores[t] == -INFINITY ? 0.0f : expf(scores[t] - top);
            sum += weight;
            if (col < v) {
                acc = fmaf(weight, kg::to_float(vs[(j0 + t) * v + col]), acc);
            }
        }
        __syncthreads();  // the scores are used
    }
    if (col < v) {
        out[row * v + col] = kg::from_float<T_out>(sum == 0 ? 0.0f : acc / sum);
    }
}
