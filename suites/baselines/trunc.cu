// Baseline of trunc: one element per thread; integers are whole already.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_trunc", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n])
@*/

// Integers are computed with in 64 bits, everything else in f32.
__device__ __forceinline__ long long wide(long long x) { return x; }
__device__ __forceinline__ long long wide(int x) { return x; }
__device__ __forceinline__ long long wide(bool x) { return x; }
template <class T> __device__ __forceinline__ float wide(T x) { return kg::to_float(x); }

__device__ __forceinline__ T_out narrow(long long x) { return static_cast<T_out>(x); }
__device__ __forceinline__ T_out narrow(float x) { return kg::from_float<T_out>(x); }

__device__ __forceinline__ long long whole(long long x) { return x; }
__device__ __forceinline__ float whole(float x) { return truncf(x); }

extern "C" __global__ void __launch_bounds__(256)
each_trunc(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const auto v = wide(x[i]);
        out[i] = narrow(whole(v));
    }
}
