// Baseline of softshrink: one element per thread, in f32.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_softshrink", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n, lambd])
@*/

__device__ __forceinline__ float shrunk(float x, float lambda) {
    if (x > lambda) {
        return x - lambda;
    }
    if (x < -lambda) {
        return x + lambda;
    }
    return x == x ? 0.0f : x;
}

extern "C" __global__ void __launch_bounds__(256)
each_softshrink(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, float lambda) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float v = kg::to_float(x[i]);
        out[i] = kg::from_float<T_out>(shrunk(v, lambda));
    }
}
