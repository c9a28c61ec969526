// Baseline of repeat_interleave: one thread per output element; places along the dimension are divided.
/*@plan
x = contiguous(self)
n = out.numel
inner = 1
if has(dim):
    d = dim if dim >= 0 else dim + x.ndim
    inner = prod(x.shape, d + 1)
launch("repeat_interleave", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n, inner, repeats])
@*/

extern "C" __global__ void __launch_bounds__(256)
repeat_interleave(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long inner,
                  long long times) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = x[i / inner / times * inner + i % inner];
    }
}
