// Baseline of split: one launch per output, which is a part of every row of self.
/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
outer = prod(x.shape, 0, d)
inner = prod(x.shape, d + 1)
for k in range(len(out)):
    n = out[k].numel
    launch("split", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
           args=[x, out[k], n, max(1, out[k].shape[d] * inner), x.shape[d] * inner, k * split_size * inner])
@*/

// A part of the rows of x, or of out: `len` elements from `from` on in rows of `pitch`.
extern "C" __global__ void __launch_bounds__(256)
split(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long len,
     long long pitch, long long from) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = x[i / len * pitch + from + i % len];
    }
}
