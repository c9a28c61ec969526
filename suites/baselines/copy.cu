// Baseline of copy: one element per thread.
/*@plan
x = expand(src, out.shape)
n = x.numel
launch("each_copy", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n])
@*/

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__device__ __forceinline__ float number(__half x) { return kg::to_float(x); }
__device__ __forceinline__ float number(__nv_bfloat16 x) { return kg::to_float(x); }
__device__ __forceinline__ float number(__nv_fp8_e4m3 x) { return kg::to_float(x); }
__device__ __forceinline__ float number(__nv_fp8_e5m2 x) { return kg::to_float(x); }
template <class T> __device__ __forceinline__ T number(T x) { return x; }

// A float becomes a small integer by way of a large one, of which the low bits stay.
template <class To> struct Convert {
    static __device__ To from(float x) { return static_cast<To>(static_cast<long long>(x)); }
    static __device__ To from(long long x) { return static_cast<To>(x); }
};
template <> struct Convert<bool> {
    static __device__ bool from(float x) { return x != 0.0f; }
    static __device__ bool from(long long x) { return x != 0; }
};
template <> struct Convert<float> {
    static __device__ float from(float x) { return x; }
    static __device__ float from(long long x) { return static_cast<float>(x); }
};
template <> struct Convert<__half> {
    static __device__ __half from(float x) { return kg::from_float<__half>(x); }
};
template <> struct Convert<__nv_bfloat16> {
    static __device__ __nv_bfloat16 from(float x) { return kg::from_float<__nv_bfloat16>(x); }
};
// Without saturation: beyond the range e4m3 has NaN and e5m2 Inf.
template <> struct Convert<__nv_fp8_e4m3> {
    static __device__ __nv_fp8_e4m3 from(float x) {
        __nv_fp8_e4m3 to;
        to.__x = __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3);
        return to;
    }
};
template <> struct Convert<__nv_fp8_e5m2> {
    static __device__ __nv_fp8_e5m2 from(float x) {
        __nv_fp8_e5m2 to;
        to.__x = __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2);
        return to;
    }
};

// Integers and bool as 64 bits, the rest as f32.
__device__ __forceinline__ float common(float x) { return x; }
template <class T> __device__ __forceinline__ long long common(T x) { return x; }

extern "C" __global__ void __launch_bounds__(256)
each_copy(const T_src* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        out[i] = Convert<T_out>::from(common(number(x[i])));
    }
}
