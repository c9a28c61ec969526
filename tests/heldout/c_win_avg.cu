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
inc = 1 if count_include_pad else 0
over = divisor_override if has(divisor_override) else 0
launch("pool", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, h, w, oh, ow, kh, kw, sh, sw, ph, pw, inc, over])
@*/

extern "C" __global__ void pool(const T_self* in, T_out* out, long long count, long long h, long long w, long long oh, long long ow,
        long long kh, long long kw, long long sh, long long sw, long long ph, long long pw, int inc, long long over) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % ow;
    const long long y = i / ow % oh;
    const T_self* plane = in + i / ow / oh * h * w;
    const long long y0 = y * sh - ph, x0 = x * sw - pw;
    const long long y1 = min(y0 + kh, h + ph), x1 = min(x0 + kw, w + pw);
    const long long all = (y1 - y0) * (x1 - x0);
    const long long ya = max(y0, 0ll), xa = max(x0, 0ll), yb = min(y1, h), xb = min(x1, w);
    const long long within = max(yb - ya, 0ll) * max(xb - xa, 0ll);
    float sum = 0;
    long long taken = 0;
    for (long long iy = ya; iy < yb; ++iy) {
        for (long long ix = xa; ix < xb; ++ix) {
            ++taken;
            sum += kg::to_float(plane[iy * w + ix]);
        }
    }
    const long long divisor = over != 0 ? over : inc ? all : within;
    const float mean = sum / static_cast<float>(divisor);
    out[i] = kg::from_float<T_out>(mean);
}
