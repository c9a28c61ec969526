// Baseline of addcdiv: one element per thread, in f32.
/*@plan
a = expand(self, out.shape)
b = expand(tensor1, out.shape)
c = expand(tensor2, out.shape)
n = out.numel
launch("each_addcdiv", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[a, b, c, out, n, value])
@*/

// An input as the output's type holds it, in f32.
template <class T> __device__ __forceinline__ float as_out(T x) {
    return kg::to_float(static_cast<T_out>(x));
}

extern "C" __global__ void __launch_bounds__(256)
each_addcdiv(const T_self* __restrict__ a, const T_tensor1* __restrict__ b,
             const T_tensor2* __restrict__ c, T_out* __restrict__ out, long long n, float value) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float x = as_out(a[i]);
        const float y = as_out(b[i]);
        const float z = as_out(c[i]);
        out[i] = kg::from_float<T_out>(x + value * y / z);
    }
}
