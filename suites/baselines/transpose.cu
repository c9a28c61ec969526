// Baseline of transpose: one thread per output element, which is found by the strides of its dimensions.
/*@plan
n = out.numel
nd = out.ndim
require(nd <= 4, "more than four dimensions are not supported")
e1 = out.shape[-3] if nd >= 3 else 1
e2 = out.shape[-2] if nd >= 2 else 1
e3 = out.shape[-1] if nd >= 1 else 1
base = 0
a = dim0 + nd if dim0 < 0 else dim0
b = dim1 + nd if dim1 < 0 else dim1
s0 = 0
if nd >= 4:
    j = nd - 4
    s0 = self.stride[b if j == a else (a if j == b else j)]
s1 = 0
if nd >= 3:
    j = nd - 3
    s1 = self.stride[b if j == a else (a if j == b else j)]
s2 = 0
if nd >= 2:
    j = nd - 2
    s2 = self.stride[b if j == a else (a if j == b else j)]
s3 = 0
if nd >= 1:
    j = nd - 1
    s3 = self.stride[b if j == a else (a if j == b else j)]
launch("transpose", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[self, out, n, e1, e2, e3, base, s0, s1, s2, s3])
@*/

// Element (i0, i1, i2, i3) of the output is at base + i0 s0 + i1 s1 + i2 s2 + i3 s3 of the input.
extern "C" __global__ void __launch_bounds__(256)
transpose(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long e1, long long e2,
   long long e3, long long base, long long s0, long long s1, long long s2, long long s3) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long i3 = i % e3;
        const long long i2 = i / e3 % e2;
        const long long i1 = i / e3 / e2 % e1;
        const long long i0 = i / e3 / e2 / e1;
        out[i] = x[base + i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3];
    }
}
