// Baseline of div.Scalar: one element per thread, in f32.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_div__Scalar", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, other])
@*/

// An input as the output's type holds it, in f32.
template <class T> __device__ __forceinline__ float as_out(T x) {
    return kg::to_float(static_cast<T_out>(x));
}

extern "C" __global__ void __launch_bounds__(256)
each_div__Scalar(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, float other) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float v = as_out(x[i]);
        out[i] = kg::from_float<T_out>(v / other);
    }
}
