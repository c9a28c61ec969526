/*@plan
x = contiguous(self)
r = self.ndim
h = self.shape[r - 2]
w = self.shape[r - 1]
left = padding[0]
top = padding[2]
launch("pad", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, h, w, out.shape[r - 2], out.shape[r - 1], left, top])
@*/

__device__ long long inside(long long q, long long m) {
    @FIX@
    return q;
}

extern "C" __global__ void pad(const T_self* in, T_out* out, long long count, long long h, long long w, long long oh, long long ow,
        long long left, long long top) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % ow;
    const long long y = i / ow % oh;
    const T_self* plane = in + i / ow / oh * h * w;
    const T_self value = plane[inside(y - top, h) * w + inside(x - left, w)];
    out[i] = value;
}
