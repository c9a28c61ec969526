// Baseline of repeat: one thread per output element, taken modulo the extents of the input.
/*@plan
x = contiguous(self)
n = out.numel
nd = out.ndim
require(nd <= 6, "more than six dimensions are not supported")
e1 = out.shape[-5] if nd >= 5 else 1
e2 = out.shape[-4] if nd >= 4 else 1
e3 = out.shape[-3] if nd >= 3 else 1
e4 = out.shape[-2] if nd >= 2 else 1
e5 = out.shape[-1] if nd >= 1 else 1
m = x.ndim
x0 = x.shape[-6] if m >= 6 else 1
x1 = x.shape[-5] if m >= 5 else 1
x2 = x.shape[-4] if m >= 4 else 1
x3 = x.shape[-3] if m >= 3 else 1
x4 = x.shape[-2] if m >= 2 else 1
x5 = x.shape[-1] if m >= 1 else 1
launch("repeat", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, e1, e2, e3, e4, e5, x0, x1, x2, x3, x4, x5])
@*/

extern "C" __global__ void __launch_bounds__(256)
repeat(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long e1, long long e2,
       long long e3, long long e4, long long e5, long long x0, long long x1, long long x2, long long x3,
       long long x4, long long x5) {
    const long long extents[] = {e5, e4, e3, e2, e1};
    const long long own[] = {x5, x4, x3, x2, x1};
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        long long at = 0, stride = 1, rest = i;
#pragma unroll
        for (int d = 0; d < 5; ++d) {
            at += rest % extents[d] % own[d] * stride;
            stride *= own[d];
            rest /= extents[d];
        }
        out[i] = x[at + rest % x0 * stride];
    }
}
