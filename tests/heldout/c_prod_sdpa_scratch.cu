/*@plan
@PLAN@
rows = out.numel // max(v, 1)
table = scratch(max(rows * s, 1) * 4)
launch("score", grid=cdiv(rows * s, 64), block=64, args=[q, kk, vv, mk, out, out.numel // max(v, 1), l, e, s, v, heads, hk, hv, given, factor, causal, table])
launch("soften", grid=rows, block=32, args=[table, s])
launch("mix", grid=cdiv(out.numel, 64), block=64, args=[q, kk, vv, mk, out, out.numel // max(v, 1), l, e, s, v, heads, hk, hv, given, factor, causal, table])
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

// Scores, probabilities and results by a launch each; -1 marks what is not seen.
extern "C" __global__ void score(const T_query* q, const T_key* key, const T_value* value, const T_attn_mask* mask, T_out* out,
        long long rows, long long l, long long e, long long s, long long v, long long heads, long long hk, long long hv,
        int given, float factor, int causal, float* table) {
    const long long t = blockIdx.x * 64ll + threadIdx.x;
    if (t >= rows * s) {
        return;
    }
    const long long j = t % s, i = t / s % l, z = t / s / l;
    const T_key* ks = key + (z / heads * hk + z % heads / (heads / hk)) * s * e;
    const float scale = given ? factor : 1.0f / sqrtf(static_cast<float>(e));
    table[t] = seen(mask, z, i, j, l, s, causal) ? score_of(q + (z * l + i) * e, ks + j * e, mask, z, i, j, l, s, e, scale) : -INFINITY;
}

extern "C" __global__ void soften(float* table, long long s) {
    float* row = table + blockIdx.x * s;
    float top = -INFINITY;
    for (long long j = threadIdx.x; j < s; j += 32) {
        top = fmaxf(top, row[j]);
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        top = fmaxf(top, __shfl_xor_sync(~0u, top, distance));
    }
    float sum = 0;
    for (long long j = threadIdx.x; j < s; j += 32) {
        const float weight = row[j] == -INFINITY ? 0.0f : expf(row[j] - top);
        row[j] = weight;
        sum += weight;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    for (long long j = threadIdx.x; j < s; j += 32) {
        row[j] = sum == 0 ? 0.0f : row[j] / sum;
    }
}

extern "C" __global__ void mix(const T_query* q, const T_key* key, const T_value* value, const T_attn_mask* mask, T_out* out,
        long long rows, long long l, long long e, long long s, long long v, long long heads, long long hk, long long hv,
        int given, float factor, int causal, const float* table) {
    const long long t = blockIdx.x * 64ll + threadIdx.x;
    if (t >= rows * v) {
        return;
    }
    const long long col = t % v, i = t / v % l, z = t / v / l;
    const T_value* vs = value + (z / heads * hv + z % heads / (heads / hv)) * s * v;
    float acc = 0;
    float all = 0;
    for (long long j = 0; j < s; ++j) {
        if (seen(mask, z, i, j, l, s, causal)) {
            all += table[(z * l + i) * s + j];
            acc = fmaf(table[(z * l + i) * s + j], kg::to_float(vs[j * v + col]), acc);
        }
    }
    out[t] = kg::from_float<T_out>(all == 0 ? 0.0f : acc);
}
