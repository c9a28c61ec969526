// Baseline of index_select: one thread per output element.
/*@plan
x = contiguous(self)
places = contiguous(index)
n = out.numel
d = 0
outer = 1
inner = 1
extent = 1
if x.ndim > 0:
    d = dim if dim >= 0 else dim + x.ndim
    extent = x.shape[d]
    outer = prod(x.shape, 0, d)
    inner = prod(x.shape, d + 1)
launch("index_select", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, places, out, n, max(1, places.numel), extent, max(1, inner)])
@*/

extern "C" __global__ void __launch_bounds__(256)
index_select(const T_self* __restrict__ x, const T_index* __restrict__ index,
             T_out* __restrict__ out, long long n, long long places, long long extent,
             long long inner) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long outer = i / inner / places;
        out[i] = x[(outer * extent + index[i / inner % places]) * inner + i % inner];
    }
}
