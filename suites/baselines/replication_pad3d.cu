// Baseline of replication_pad3d: one thread per output element, moved to the nearest element of the input.
/*@plan
x = contiguous(self)
n = out.numel
nd = out.ndim
require(nd <= 5, "more than five dimensions are not supported")
e1 = out.shape[-4] if nd >= 4 else 1
e2 = out.shape[-3] if nd >= 3 else 1
e3 = out.shape[-2] if nd >= 2 else 1
e4 = out.shape[-1] if nd >= 1 else 1
x1 = x.shape[-4] if nd >= 4 else 1
x2 = x.shape[-3] if nd >= 3 else 1
x3 = x.shape[-2] if nd >= 2 else 1
x4 = x.shape[-1] if nd >= 1 else 1
b4 = padding[0] if len(padding) >= 2 else 0
a4 = padding[1] if len(padding) >= 2 else 0
b3 = padding[2] if len(padding) >= 4 else 0
a3 = padding[3] if len(padding) >= 4 else 0
b2 = padding[4] if len(padding) >= 6 else 0
a2 = padding[5] if len(padding) >= 6 else 0
launch("replication_pad3d", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, e1, e2, e3, e4, x1, x2, x3, x4, b2, b3, b4, a2, a3, a4])
@*/

// The place in the input of a place of the output along one dimension.
__device__ __forceinline__ long long place(long long at, long long before, long long, long long extent) {
    at -= before;
    return at < 0 ? 0 : (at < extent ? at : extent - 1);
}

extern "C" __global__ void __launch_bounds__(256)
replication_pad3d(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long e1, long long e2,
    long long e3, long long e4, long long x1, long long x2, long long x3, long long x4,
    long long b2, long long b3, long long b4, long long a2, long long a3, long long a4) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long i4 = place(i % e4, b4, a4, x4);
        const long long i3 = place(i / e4 % e3, b3, a3, x3);
        const long long i2 = place(i / e4 / e3 % e2, b2, a2, x2);
        const long long outer = i / e4 / e3 / e2;
        out[i] = x[((outer * x2 + i2) * x3 + i3) * x4 + i4];
    }
}
