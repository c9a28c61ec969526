// Baseline of index_copy: one thread per output element looks for the index that names it.
/*@plan
x = contiguous(self)
places = contiguous(index)
y = contiguous(source)
n = x.numel
d = 0
inner = 1
extent = 1
if x.ndim > 0:
    d = dim if dim >= 0 else dim + x.ndim
    extent = x.shape[d]
    for j in range(x.ndim):
        if j > d:
            inner *= x.shape[j]
launch("index_copy", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, places, y, out, n, places.numel, max(1, extent), max(1, inner)])
@*/

extern "C" __global__ void __launch_bounds__(256)
index_copy(const T_self* __restrict__ x, const T_index* __restrict__ index,
           const T_source* __restrict__ y, T_out* __restrict__ out, long long n, long long places,
           long long extent, long long inner) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long own = i / inner % extent;
        const long long outer = i / inner / extent;
        T_out value = x[i];
        for (long long k = 0; k < places; ++k) {
            if (index[k] == own) {
                value = y[(outer * places + k) * inner + i % inner];
            }
        }
        out[i] = value;
    }
}
