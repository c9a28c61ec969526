// Baseline of index_add: one thread per output element looks for the indices that name it, so that sums are f32 and need no atomics.
/*@plan
x = contiguous(self)
places = contiguous(index)
y = contiguous(source)
n = x.numel
d = 0
outer = 1
inner = 1
extent = 1
if x.ndim > 0:
    d = dim if dim >= 0 else dim + x.ndim
    extent = x.shape[d]
    outer = prod(x.shape, 0, d)
    inner = prod(x.shape, d + 1)
launch("index_add", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, places, y, out, n, places.numel, max(1, extent), max(1, inner), alpha])
@*/

extern "C" __global__ void __launch_bounds__(256)
index_add(const T_self* __restrict__ x, const T_index* __restrict__ index,
          const T_source* __restrict__ y, T_out* __restrict__ out, long long n, long long places,
          long long extent, long long inner, double alpha) {
    using Acc = kg::acc_t<T_self>;
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long own = i / inner % extent;
        const long long outer = i / inner / extent;
        Acc sum = kg::to_acc(x[i]);
        for (long long k = 0; k < places; ++k) {
            if (index[k] == own) {
                sum += static_cast<Acc>(alpha) * kg::to_acc(y[(outer * places + k) * inner + i % inner]);
            }
        }
        out[i] = kg::from_acc<T_out>(sum);
    }
}
