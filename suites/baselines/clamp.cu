// Baseline of clamp: one element per thread; integers in 64 bits, the rest in f32.
/*@plan
x = contiguous(self)
n = x.numel
low = min_ if has(min_) else 0
high = max_ if has(max_) else 0
whole = out.dtype == "i64" or out.dtype == "i32"    # limits of integers are integers
launch("each_clamp", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, has(min_), f32(low), low if whole else 0, has(max_), f32(high),
             high if whole else 0])
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

// A limit in the type that is computed in.
__device__ __forceinline__ float limit(float, float low, long long) { return low; }
__device__ __forceinline__ long long limit(long long, float, long long low) { return low; }

// NaN stays NaN. Two limits of which one is NaN leave nothing, one that is NaN is none.
template <class V>
__device__ __forceinline__ V limited(V x, bool has_low, V low, bool has_high, V high) {
    if (has_low && has_high && (low != low || high != high)) {
        return low != low ? low : high;
    }
    const V above = has_low && x < low ? low : x;
    return has_high && above > high ? high : above;
}

extern "C" __global__ void __launch_bounds__(256)
each_clamp(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, bool has_low,
           float low, long long whole_low, bool has_high, float high, long long whole_high) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const auto v = as_out(x[i]);
        out[i] = narrow(limited(v, has_low, limit(v, low, whole_low), has_high, limit(v, high, whole_high)));
    }
}
