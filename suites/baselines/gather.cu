// Baseline of gather: one thread per output element.
/*@plan
x = contiguous(self)
places = contiguous(index)
n = out.numel
require(x.ndim <= 6, "more than six dimensions are not supported")
# Counted from the back.
d = max(1, self.ndim) - 1 - (dim if dim >= 0 else dim + max(1, self.ndim))
i0 = places.shape[-1] if places.ndim >= 1 else 1
i1 = places.shape[-2] if places.ndim >= 2 else 1
i2 = places.shape[-3] if places.ndim >= 3 else 1
i3 = places.shape[-4] if places.ndim >= 4 else 1
i4 = places.shape[-5] if places.ndim >= 5 else 1
x0 = x.shape[-1] if x.ndim >= 1 else 1
x1 = x.shape[-2] if x.ndim >= 2 else 1
x2 = x.shape[-3] if x.ndim >= 3 else 1
x3 = x.shape[-4] if x.ndim >= 4 else 1
x4 = x.shape[-5] if x.ndim >= 5 else 1
launch("gather", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, places, out, n, d, i0, i1, i2, i3, i4, x0, x1, x2, x3, x4])
@*/

extern "C" __global__ void __launch_bounds__(256)
gather(const T_self* __restrict__ x, const T_index* __restrict__ index, T_out* __restrict__ out,
       long long n, int dim, long long i0, long long i1, long long i2, long long i3, long long i4,
       long long x0, long long x1, long long x2, long long x3, long long x4) {
    const long long extents[] = {i0, i1, i2, i3, i4};
    const long long own[] = {x0, x1, x2, x3, x4};
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        long long at = 0, stride = 1, rest = i;
#pragma unroll
        for (int d = 0; d < 5; ++d) {
            at += (d == dim ? index[i] : rest % extents[d]) * stride;
            stride *= own[d];
            rest /= extents[d];
        }
        out[i] = x[at + (dim == 5 ? index[i] : rest) * stride];
    }
}
