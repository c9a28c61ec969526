/*@plan
@PLAN@
launch("attend", grid=cdiv(out.numel, 64), block=64, args=[q, kk, vv, mk, out, out.numel // max(v, 1), l, e, s, v, heads, hk, hv, given, factor, causal])
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

// A thread per output, two passes over the keys.
extern "C" __global__ void attend(const T_query* q, const T_key* key, const T_value* value, const T_attn_mask* mask, T_out* out,
        long long rows, long long l, long long e, long long s, long long v, long long heads, long long hk, long long hv,
        int given, float factor, int causal) {
    const long long t = blockIdx.x * 64ll + threadIdx.x;
    if (t >= rows * v) {
        return;
    }
    const long long col = t % v;
    const long long i = t / v % l;
    const long long z = t / v / l;
    const T_query* qr = q + (z * l + i) * e;
    const T_key* ks = key + (z / heads * hk + z % heads / (heads / hk)) * s * e;
    const T_value* vs = value + (z / heads * hv + z % heads / (heads / hv)) * s * v;
    const float scale = given ? factor : 1.0f / sqrtf(static_cast<float>(e));
    float largest = -INFINITY;
    for (long long j = 0; j < s; ++j) {
        if (seen(mask, z, i, j, l, s, causal)) {
            largest = fmaxf(largest, score_of(qr, ks + j * e, mask, z, i, j, l, s, e, scale));
        }
    }
    float sum = 0;
    float acc = 0;
    for (long long j = 0; j < s; ++j) {
        if (!seen(mask, z, i, j, l, s, causal)) {
            continue;
        }
        const float score = score_of(qr, ks + j * e, mask, z, i, j, l, s, e, scale);
        const float weight = score == -INFINITY ? 0.0f : expf(score - largest);
        sum += weight;
        acc = fmaf(weight, kg::to_float(vs[j * v + col]), acc);
    }
    out[t] = kg::from_float<T_out>(sum == 0 ? 0.0f : acc / sum);
}
