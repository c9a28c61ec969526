// Baseline of logcumsumexp: a running sum of exponentials relative to a running maximum.
/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
outer = prod(x.shape, 0, d)
len_ = x.shape[d] if x.ndim > 0 else 1
inner = prod(x.shape, d + 1)
n = outer * inner if len_ > 0 else 0
launch("scan", grid=cdiv(n, 64), block=64, args=[x, out, n, len_, inner])
@*/

// x is [outer, len, inner]; each thread walks one slice.
extern "C" __global__ void scan(const T_self* __restrict__ x, T_out* __restrict__ out,
                                long long n, long long len, long long inner) {
    const long long slice = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (slice >= n) {
        return;
    }
    long long at = slice / inner * len * inner + slice % inner;
    float largest = -INFINITY;
    float sum = 0.0f;
    for (long long i = 0; i < len; ++i, at += inner) {
        const float value = kg::to_float(x[at]);
        if (value != value || largest != largest) {
            largest = NAN;
        } else if (value > largest) {
            sum = largest > -INFINITY ? sum * expf(largest - value) + 1.0f : 1.0f;
            largest = value;
        } else if (!isinf(largest)) {
            sum += expf(value - largest);
        }
        // NaN and infinities are the result.
        const bool plain = largest == largest && !isinf(largest);
        out[at] = kg::from_float<T_out>(plain ? largest + logf(sum) : largest);
    }
}
