// Baseline of bitwise_not: one element per thread.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_bitwise_not", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n])
@*/

__device__ __forceinline__ bool turned(bool x) { return !x; }
template <class T> __device__ __forceinline__ T turned(T x) { return ~x; }

extern "C" __global__ void __launch_bounds__(256)
each_bitwise_not(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        out[i] = turned(x[i]);
    }
}
