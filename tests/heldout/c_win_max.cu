/*@plan
x = contiguous(self)
r = self.ndim
h = self.shape[r - 2]
w = self.shape[r - 1]
oh = out@Z@.shape[r - 2]
ow = out@Z@.shape[r - 1]
kh, kw = kernel_size[0], kernel_size[len(kernel_size) - 1]
sh = stride[0] if len(stride) > 0 else kh
sw = stride[len(stride) - 1] if len(stride) > 0 else kw
ph, pw = padding[0], padding[len(padding) - 1]
dh, dw = dilation[0], dilation[len(dilation) - 1]
launch("pool", grid=cdiv(out@Z@.numel, 128), block=128, args=[x, @ARG@, out@Z@.numel, h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw])
@*/

extern "C" __global__ void pool(const T_self* in, @PARAM@, long long count, long long h, long long w, long long oh, long long ow,
        long long kh, long long kw, long long sh, long long sw, long long ph, long long pw, long long dh, long long dw) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % ow;
    const long long y = i / ow % oh;
    const T_self* plane = in + i / ow / oh * h * w;
    float best = -INFINITY;
    long long at = -1;
    for (long long ty = 0; ty < kh; ++ty) {
        for (long long tx = 0; tx < kw; ++tx) {
            const long long iy = y * sh - ph + ty * dh;
            const long long ix = x * sw - pw + tx * dw;
            if (iy < 0 || iy >= h || ix < 0 || ix >= w) {
                continue;
            }
            const float value = kg::to_float(plane[iy * w + ix]);
            if (at < 0 || value > best || value != value) {
                best = value;
                at = iy * w + ix;
            }
        }
    }
    out[i] = kg::from_float<T_self>(best);
    @STORE@
}
