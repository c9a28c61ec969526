// Baseline of atan2: one element per thread, in f32.
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("each_atan2", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, out, n])
@*/

// An input as the output's type holds it, in f32.
template <class T> __device__ __forceinline__ float as_out(T x) {
    return kg::to_float(static_cast<T_out>(x));
}

extern "C" __global__ void __launch_bounds__(256)
each_atan2(const T_self* __restrict__ a, const T_other* __restrict__ b, T_out* __restrict__ out,
           long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float x = as_out(a[i]);
        const float y = as_out(b[i]);
        out[i] = kg::from_float<T_out>(atan2f(x, y));
    }
}
