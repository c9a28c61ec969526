// Baseline of reflection_pad2d: one thread per output element, mirrored into the input.
/*@plan
x = contiguous(self)
n = out.numel
nd = out.ndim
require(nd <= 4, "more than four dimensions are not supported")
e1 = out.shape[-3] if nd >= 3 else 1
e2 = out.shape[-2] if nd >= 2 else 1
e3 = out.shape[-1] if nd >= 1 else 1
x0 = x.shape[-4] if nd >= 4 else 1
x1 = x.shape[-3] if nd >= 3 else 1
x2 = x.shape[-2] if nd >= 2 else 1
x3 = x.shape[-1] if nd >= 1 else 1
b3 = padding[0] if len(padding) >= 2 else 0
b2 = padding[2] if len(padding) >= 4 else 0
b1 = padding[4] if len(padding) >= 6 else 0
b0 = padding[6] if len(padding) >= 8 else 0
launch("reflection_pad2d", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, e1, e2, e3, x0, x1, x2, x3, b0, b1, b2, b3, 0])
@*/

// The place in the input of a place of the output along one dimension; -1 where there is none.
__device__ __forceinline__ long long place(long long at, long long before, long long extent) {
    at -= before;
    at = at < 0 ? -at : at;
    return at < extent ? at : 2 * (extent - 1) - at;
}

extern "C" __global__ void __launch_bounds__(256)
reflection_pad2d(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long e1, long long e2,
    long long e3, long long x0, long long x1, long long x2, long long x3, long long b0,
    long long b1, long long b2, long long b3, int unused) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long i3 = place(i % e3, b3, x3);
        const long long i2 = place(i / e3 % e2, b2, x2);
        const long long i1 = place(i / e3 / e2 % e1, b1, x1);
        const long long i0 = place(i / e3 / e2 / e1, b0, x0);
        const bool inside = i0 >= 0 && i1 >= 0 && i2 >= 0 && i3 >= 0;
        out[i] = inside ? x[((i0 * x1 + i1) * x2 + i2) * x3 + i3] : kg::from_acc<T_out>(unused);
    }
}
