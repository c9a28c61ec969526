// Baseline of index_fill: one thread per output element looks for an index that names it.
/*@plan
x = contiguous(self)
places = contiguous(index)
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
launch("index_fill", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, places, out, n, places.numel, max(1, extent), max(1, inner), value])
@*/

extern "C" __global__ void __launch_bounds__(256)
index_fill(const T_self* __restrict__ x, const T_index* __restrict__ index, T_out* __restrict__ out,
           long long n, long long places, long long extent, long long inner, double value) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long own = i / inner % extent;
        bool named = false;
        for (long long k = 0; k < places; ++k) {
            named = named || index[k] == own || index[k] + extent == own;
        }
        out[i] = named ? kg::from_acc<T_out>(static_cast<kg::acc_t<T_self>>(value)) : x[i];
    }
}
