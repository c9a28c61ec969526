// Baseline of lt: one element per thread; integers are compared in 64 bits.
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("each_lt", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, out, n])
@*/

// Integers are computed with in 64 bits, everything else in f32.
__device__ __forceinline__ long long wide(long long x) { return x; }
__device__ __forceinline__ long long wide(int x) { return x; }
__device__ __forceinline__ long long wide(bool x) { return x; }
template <class T> __device__ __forceinline__ float wide(T x) { return kg::to_float(x); }

extern "C" __global__ void __launch_bounds__(256)
each_lt(const T_self* __restrict__ a, const T_other* __restrict__ b, T_out* __restrict__ out,
        long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        out[i] = wide(a[i]) < wide(b[i]);
    }
}
