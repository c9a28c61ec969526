// Baseline of scatter_reduce: one thread per output element looks for the indices that name it, so that results are f32 and need no atomics.
/*@plan
x = contiguous(self)
places = contiguous(index)
source = contiguous(src)
n = x.numel
require(x.ndim <= 4, "more than four dimensions are not supported")
d = (dim if dim >= 0 else dim + max(1, self.ndim)) + 4 - max(1, self.ndim)
i0 = places.shape[-4] if places.ndim >= 4 else 1
i3 = places.shape[-1] if places.ndim >= 1 else 1
i2 = places.shape[-2] if places.ndim >= 2 else 1
i1 = places.shape[-3] if places.ndim >= 3 else 1
x3 = x.shape[-1] if x.ndim >= 1 else 1
x2 = x.shape[-2] if x.ndim >= 2 else 1
x1 = x.shape[-3] if x.ndim >= 3 else 1
y3 = source.shape[-1] if source.ndim >= 1 else 1
y2 = source.shape[-2] if source.ndim >= 2 else 1
y1 = source.shape[-3] if source.ndim >= 3 else 1
if places.numel == 0:
    i0 = 0
define("SUM", reduce == "sum" or reduce == "mean")
define("MEAN", reduce == "mean")
define("PROD", reduce == "prod")
define("AMAX", reduce == "amax")
launch("scatter_reduce", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, places, source, out, n, d, i0, i1, i2, i3, x1, x2, x3, y1, y2, y3, include_self])
@*/

// The row-major place (p0, p1, p2, p3) in extents (.., e1, e2, e3).
__device__ __forceinline__ long long flat(const long long* p, long long e1, long long e2,
                                          long long e3) {
    return ((p[0] * e1 + p[1]) * e2 + p[2]) * e3 + p[3];
}

// The position of a row-major place.
__device__ __forceinline__ void unravel(long long i, long long e1, long long e2, long long e3,
                                        long long* p) {
    p[3] = i % e3;
    p[2] = i / e3 % e2;
    p[1] = i / e3 / e2 % e1;
    p[0] = i / e3 / e2 / e1;
}

using Acc = kg::acc_t<T_self>;

__device__ __forceinline__ Acc both(Acc a, Acc b) {
    if (SUM) {
        return a + b;
    }
    if (PROD) {
        return a * b;
    }
    // NaN is beyond every number.
    return a != a || (AMAX ? a >= b : a <= b) ? a : b;
}

__device__ __forceinline__ float quotient(float sum, long long n) { return sum / n; }
// Rounded down.
__device__ __forceinline__ long long quotient(long long sum, long long n) {
    return sum / n - (sum % n < 0);
}

extern "C" __global__ void __launch_bounds__(256)
scatter_reduce(const T_self* __restrict__ x, const T_index* __restrict__ index,
            const T_src* __restrict__ src, T_out* __restrict__ out, long long n, int dim,
            long long i0, long long i1, long long i2, long long i3, long long x1, long long x2,
            long long x3, long long y1, long long y2, long long y3, bool include_self) {
    const long long extents[4] = {i0, i1, i2, i3};
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        long long p[4];
        unravel(i, x1, x2, x3, p);
        const long long own = p[dim];
        Acc result = kg::to_acc(x[i]);
        long long n_values = include_self ? 1 : 0;
        bool named = i0 > 0;
        for (int d = 0; d < 4; ++d) {
            named = named && (d == dim || p[d] < extents[d]);
        }
        for (p[dim] = 0; named && p[dim] < extents[dim]; ++p[dim]) {
            if (index[flat(p, i1, i2, i3)] == own) {
                const Acc value = kg::to_acc(src[flat(p, y1, y2, y3)]);
                result = n_values == 0 ? value : both(result, value);
                ++n_values;
            }
        }
        out[i] = kg::from_acc<T_out>(MEAN && n_values > 1 ? quotient(result, n_values) : result);
    }
}
