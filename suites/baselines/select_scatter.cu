// Baseline of select_scatter: one thread per output element, which takes it from self or from src.
/*@plan
x = contiguous(self)
y = contiguous(src)
d = dim if dim >= 0 else dim + x.ndim
extent = x.shape[d]
inner = prod(x.shape, d + 1)
first = index if index >= 0 else index + extent
hop = 1
count = 1
launch("select_scatter", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[x, y, out, out.numel, inner, extent, first, hop, count])
@*/

// Places first, first + hop, .. along a dimension, count of them, are those of src.
extern "C" __global__ void __launch_bounds__(256)
select_scatter(const T_self* __restrict__ x, const T_src* __restrict__ src, T_out* __restrict__ out,
    long long n, long long inner, long long extent, long long first, long long hop, long long count) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long away = i / inner % extent - first;
        const bool within = away >= 0 && away % hop == 0 && away / hop < count;
        out[i] = within ? static_cast<T_out>(src[(i / inner / extent * count + away / hop) * inner + i % inner])
                        : x[i];
    }
}
