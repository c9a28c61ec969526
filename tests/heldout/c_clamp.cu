/*@plan
x = contiguous(self)
n = x.numel
low_given = 1 if has(min_) else 0
high_given = 1 if has(max_) else 0
low = min_ if has(min_) else 0
high = max_ if has(max_) else 0
if out.dtype == "i64" or out.dtype == "i32":
    define("WHOLE", 1)
    launch("limit_whole", grid=cdiv(n, 256), block=256, args=[x, out, low_given, high_given, low, high, n])
else:
    define("WHOLE", 0)
    launch("limit", grid=cdiv(n, 256), block=256, args=[x, out, low_given, high_given, f32(low), f32(high), n])
@*/

#if WHOLE
extern "C" __global__ void limit_whole(const T_self* __restrict__ in, T_out* __restrict__ out, int low_given, int high_given, long long low, long long high, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    long long x = kg::to_acc(in[i]);
    if (low_given && x < low) {
        x = low;
    }
    if (high_given && x > high) {
        x = high;
    }
    out[i] = static_cast<T_out>(x);
}
#else
extern "C" __global__ void limit(const T_self* __restrict__ in, T_out* __restrict__ out, int low_given, int high_given, float low, float high, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    low = kg::to_float(kg::from_float<T_out>(low));
    high = kg::to_float(kg::from_float<T_out>(high));
    float x = kg::to_float(in[i]);
    if (low_given && high_given && (low != low || high != high)) {
        x = NAN;
    }
    if (low_given && x < low) {
        x = low;
    }
    if (high_given && x > high) {
        x = high;
    }
    out[i] = kg::from_float<T_out>(x);
}
#endif
