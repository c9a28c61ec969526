// Baseline of gt.Scalar: one element per thread.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_gt__Scalar", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n, other])
@*/

// The number in the type of the comparison, which is f32 for integers with a fraction.
template <class T> __device__ __forceinline__ float number(T, float other) {
    return kg::to_float(kg::from_float<T>(other));
}
__device__ __forceinline__ float number(long long, float other) { return other; }
__device__ __forceinline__ float number(int, float other) { return other; }
__device__ __forceinline__ float number(bool, float other) { return other; }

extern "C" __global__ void __launch_bounds__(256)
each_gt__Scalar(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, float other) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        out[i] = kg::to_float(x[i]) > number(x[i], other);
    }
}
