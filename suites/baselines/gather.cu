// Baseline of gather: one thread per output element.
/*@plan
x = contiguous(self)
places = contiguous(index)
n = out.numel
require(x.ndim <= 4, "more than four dimensions are not supported")
d = (dim if dim >= 0 else dim + max(1, self.ndim)) + 4 - max(1, self.ndim)
i3 = places.shape[-1] if places.ndim >= 1 else 1
i2 = places.shape[-2] if places.ndim >= 2 else 1
i1 = places.shape[-3] if places.ndim >= 3 else 1
x3 = x.shape[-1] if x.ndim >= 1 else 1
x2 = x.shape[-2] if x.ndim >= 2 else 1
x1 = x.shape[-3] if x.ndim >= 3 else 1
launch("gather", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, places, out, n, d, i1, i2, i3, x1, x2, x3])
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

extern "C" __global__ void __launch_bounds__(256)
gather(const T_self* __restrict__ x, const T_index* __restrict__ index, T_out* __restrict__ out,
       long long n, int dim, long long i1, long long i2, long long i3, long long x1, long long x2,
       long long x3) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        long long p[4];
        unravel(i, i1, i2, i3, p);
        p[dim] = index[i];
        out[i] = x[flat(p, x1, x2, x3)];
    }
}
