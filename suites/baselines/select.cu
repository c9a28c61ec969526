// Baseline of select: one thread per output element, in the dimensions that are left.
/*@plan
n = out.numel
nd = out.ndim
require(nd <= 6, "more than six dimensions are not supported")
e1 = out.shape[-5] if nd >= 5 else 1
e2 = out.shape[-4] if nd >= 4 else 1
e3 = out.shape[-3] if nd >= 3 else 1
e4 = out.shape[-2] if nd >= 2 else 1
e5 = out.shape[-1] if nd >= 1 else 1
d = dim if dim >= 0 else dim + self.ndim
base = (index if index >= 0 else index + self.shape[d]) * self.stride[d]
j = nd - 6
s0 = self.stride[j if j < d else j + 1] if nd >= 6 else 0
j = nd - 5
s1 = self.stride[j if j < d else j + 1] if nd >= 5 else 0
j = nd - 4
s2 = self.stride[j if j < d else j + 1] if nd >= 4 else 0
j = nd - 3
s3 = self.stride[j if j < d else j + 1] if nd >= 3 else 0
j = nd - 2
s4 = self.stride[j if j < d else j + 1] if nd >= 2 else 0
j = nd - 1
s5 = self.stride[j if j < d else j + 1] if nd >= 1 else 0
launch("select", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[self, out, n, e1, e2, e3, e4, e5, base, s0, s1, s2, s3, s4, s5])
@*/

// Element (i0, .., i5) of the output is at base + i0 s0 + .. + i5 s5 of the input.
extern "C" __global__ void __launch_bounds__(256)
select(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long e1, long long e2,
   long long e3, long long e4, long long e5, long long base, long long s0, long long s1, long long s2,
   long long s3, long long s4, long long s5) {
    const long long extents[] = {e5, e4, e3, e2, e1};
    const long long strides[] = {s5, s4, s3, s2, s1};
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        long long at = base, rest = i;
#pragma unroll
        for (int d = 0; d < 5; ++d) {
            at += rest % extents[d] * strides[d];
            rest /= extents[d];
        }
        out[i] = x[at + rest * s0];
    }
}
