// Baseline of repeat: one thread per output element, taken modulo the extents of the input.
/*@plan
x = contiguous(self)
n = out.numel
nd = out.ndim
require(nd <= 4, "more than four dimensions are not supported")
e1 = out.shape[-3] if nd >= 3 else 1
e2 = out.shape[-2] if nd >= 2 else 1
e3 = out.shape[-1] if nd >= 1 else 1
m = x.ndim
x0 = x.shape[-4] if m >= 4 else 1
x1 = x.shape[-3] if m >= 3 else 1
x2 = x.shape[-2] if m >= 2 else 1
x3 = x.shape[-1] if m >= 1 else 1
launch("repeat", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, e1, e2, e3, x0, x1, x2, x3])
@*/

extern "C" __global__ void __launch_bounds__(256)
repeat(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long e1, long long e2,
       long long e3, long long x0, long long x1, long long x2, long long x3) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long i3 = i % e3 % x3;
        const long long i2 = i / e3 % e2 % x2;
        const long long i1 = i / e3 / e2 % e1 % x1;
        const long long i0 = i / e3 / e2 / e1 % x0;
        out[i] = x[((i0 * x1 + i1) * x2 + i2) * x3 + i3];
    }
}
