// Baseline of pow.Tensor_Scalar: one element per thread; integers in 64 bits, the rest in f32.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_pow__Tensor_Scalar", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, exponent])
@*/

// Integers are computed with in 64 bits, everything else in f32.
__device__ __forceinline__ long long wide(long long x) { return x; }
__device__ __forceinline__ long long wide(int x) { return x; }
__device__ __forceinline__ long long wide(bool x) { return x; }
template <class T> __device__ __forceinline__ float wide(T x) { return kg::to_float(x); }

__device__ __forceinline__ T_out narrow(long long x) { return static_cast<T_out>(x); }
__device__ __forceinline__ T_out narrow(float x) { return kg::from_float<T_out>(x); }

// An input as the output's type holds it.
template <class T> __device__ __forceinline__ auto as_out(T x) {
    return wide(static_cast<T_out>(x));
}

__device__ __forceinline__ long long power(long long x, long long y) {
    if (y < 0) {
        return x == 1 || (x == -1 && y % 2 == 0) ? 1 : x == -1 ? -1 : 0;
    }
    long long result = 1;
    for (; y > 0; y /= 2) {
        if (y % 2 == 1) {
            result *= x;
        }
        x *= x;
    }
    return result;
}

__device__ __forceinline__ float power(float x, float y) {
    return y == 0.5f ? sqrtf(x) : y == -0.5f ? 1.0f / sqrtf(x) : powf(x, y);
}

extern "C" __global__ void __launch_bounds__(256)
each_pow__Tensor_Scalar(const T_self* __restrict__ x, T_out* __restrict__ out, long long n,
                        float exponent) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        using V = decltype(as_out(x[i]));
        const V v = as_out(x[i]);
        out[i] = narrow(power(v, V(exponent)));
    }
}
