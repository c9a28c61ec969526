// Baseline of logit: one element per thread, in f32.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_logit", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, has(eps), eps if has(eps) else 0.0])
@*/

__device__ __forceinline__ float limited(float x, bool limits, float eps) {
    if (!limits) {
        return x;
    }
    return x < eps ? eps : x > 1.0f - eps ? 1.0f - eps : x;
}

__device__ __forceinline__ float log_odds(float z) { return logf(z / (1.0f - z)); }

extern "C" __global__ void __launch_bounds__(256)
each_logit(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, bool limits,
           float eps) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float v = kg::to_float(x[i]);
        out[i] = kg::from_float<T_out>(log_odds(limited(v, limits, eps)));
    }
}
