/*@plan
x = contiguous(self)
r = self.ndim
c = self.shape[r - 3]
h = self.shape[r - 2]
w = self.shape[r - 1]
kh, kw = kernel_size[0], kernel_size[len(kernel_size) - 1]
dh, dw = dilation[0], dilation[len(dilation) - 1]
ph, pw = padding[0], padding[len(padding) - 1]
sh, sw = stride[0], stride[len(stride) - 1]
lh = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1
lw = (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
launch("blocks", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, c, h, w, kh, kw, dh, dw, ph, pw, sh, sw, lh, lw])
@*/

extern "C" __global__ void blocks(const T_self* in, T_out* out, long long count, long long c, long long h, long long w,
        long long kh, long long kw, long long dh, long long dw, long long ph, long long pw, long long sh, long long sw,
        long long lh, long long lw) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % lw, y = i / lw % lh;
    const long long row = i / lw / lh;
    const long long tx = row % kw, ty = row / kw % kh, plane = row / kw / kh;
    const long long iy = y * sh + ty * dh - ph;
    const long long ix = x * sw + tx * dw - pw;
    const bool inside = iy >= 0 && iy < h && ix >= 0 && ix < w;
    T_out value = kg::from_float<T_out>(0.0f);
    if (inside) {
        value = in[(plane * h + iy) * w + ix];
    }
    out[i] = value;
}
