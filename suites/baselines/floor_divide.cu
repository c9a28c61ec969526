// Baseline of floor_divide: one element per thread; integers in 64 bits, the rest in f32.
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("each_floor_divide", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, out, n])
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

__device__ __forceinline__ long long floor_of(long long x, long long y) {
    const long long quotient = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

// The quotient's floor, from the exact remainder: x / y may round up to a whole number.
__device__ __forceinline__ float floor_of(float x, float y) {
    if (y == 0.0f) {
        return x / y;
    }
    const float rest = fmodf(x, y);
    float quotient = (x - rest) / y;
    if (rest != 0.0f && (y < 0.0f) != (rest < 0.0f)) {
        quotient -= 1.0f;
    }
    const float floor = floorf(quotient);
    return quotient - floor > 0.5f ? floor + 1.0f : floor;
}

extern "C" __global__ void __launch_bounds__(256)
each_floor_divide(const T_self* __restrict__ a, const T_other* __restrict__ b,
                  T_out* __restrict__ out, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const auto x = as_out(a[i]);
        const auto y = as_out(b[i]);
        out[i] = narrow(floor_of(x, y));
    }
}
