// Baseline of cat: one launch per tensor, which becomes a part of every row of the output.
/*@plan
from_ = 0
d = dim if dim >= 0 else dim + out.ndim
inner = prod(out.shape, d + 1)
pitch = out.shape[d] * inner
for t in tensors:
    if t.ndim == out.ndim and t.numel > 0:
        x = contiguous(t)
        len_ = x.shape[d] * inner
        # In units of 16 bytes where rows, parts and pointers allow it.
        per_unit = 16 // x.itemsize
        wide = x.align >= 16 and out.align >= 16 and (len_ | pitch | from_) % per_unit == 0
        unit = per_unit if wide else 1
        n = x.numel // unit
        launch("cat<Sixteen>" if wide else "cat<T_out>", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
               args=[ptr(x, 0), ptr(out, 0), n, len_ // unit, pitch // unit, from_ // unit])
        from_ += len_
@*/

struct alignas(16) Sixteen {
    unsigned int words[4];
};

// A part of the rows of out: `len` units from `from` on in rows of `pitch`.
template <class Unit>
__global__ void __launch_bounds__(256) cat(const Unit* __restrict__ x, Unit* __restrict__ out, long long n,
                                           long long len, long long pitch, long long from) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i / len * pitch + from + i % len] = x[i];
    }
}
