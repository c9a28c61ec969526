// Baseline of lerp.Scalar: one element per thread, in f32.
/*@plan
a = expand(self, out.shape)
b = expand(end, out.shape)
n = out.numel
launch("each_lerp__Scalar", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[a, b, out, n, weight])
@*/

// An input as the output's type holds it, in f32.
template <class T> __device__ __forceinline__ float as_out(T x) {
    return kg::to_float(static_cast<T_out>(x));
}

// From the nearer end.
__device__ __forceinline__ float lerp(float start, float end, float weight) {
    const float way = end - start;
    return fabsf(weight) < 0.5f ? start + weight * way : end - way * (1.0f - weight);
}

extern "C" __global__ void __launch_bounds__(256)
each_lerp__Scalar(const T_self* __restrict__ a, const T_end* __restrict__ b,
                  T_out* __restrict__ out, long long n, float weight) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float x = as_out(a[i]);
        const float y = as_out(b[i]);
        out[i] = kg::from_float<T_out>(lerp(x, y, weight));
    }
}
