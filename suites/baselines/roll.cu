// Baseline of roll: one thread per output element, moved back by the shifts.
/*@plan
x = contiguous(self)
n = x.numel
nd = x.ndim
require(nd <= 4, "more than four dimensions are not supported")
e1 = x.shape[-3] if nd >= 3 else 1
e2 = x.shape[-2] if nd >= 2 else 1
e3 = x.shape[-1] if nd >= 1 else 1
t0 = 0
t1 = 0
t2 = 0
t3 = 0
if len(dims) == 0:
    # The flat tensor is one row.
    e1 = 1
    e2 = 1
    e3 = max(n, 1)
    t3 = shifts[0]
for k in range(len(dims)):
    d = dims[k] if dims[k] >= 0 else dims[k] + nd
    if d == nd - 4:
        t0 += shifts[k]
    elif d == nd - 3:
        t1 += shifts[k]
    elif d == nd - 2:
        t2 += shifts[k]
    else:
        t3 += shifts[k]
e0 = x.shape[-4] if nd >= 4 and len(dims) > 0 else 1
launch("roll", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, e0, e1, e2, e3, t0, t1, t2, t3])
@*/

__device__ __forceinline__ long long turned(long long at, long long shift, long long extent) {
    const long long from = (at - shift % extent) % extent;
    return from < 0 ? from + extent : from;
}

extern "C" __global__ void __launch_bounds__(256)
roll(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long e0, long long e1,
     long long e2, long long e3, long long t0, long long t1, long long t2, long long t3) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long i3 = turned(i % e3, t3, e3);
        const long long i2 = turned(i / e3 % e2, t2, e2);
        const long long i1 = turned(i / e3 / e2 % e1, t1, e1);
        const long long i0 = turned(i / e3 / e2 / e1, t0, e0);
        out[i] = x[((i0 * e1 + i1) * e2 + i2) * e3 + i3];
    }
}
