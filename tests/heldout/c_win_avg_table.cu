/*@plan
x = contiguous(self)
r = self.ndim
h = self.shape[r - 2]
w = self.shape[r - 1]
oh = out.shape[r - 2]
ow = out.shape[r - 1]
kh, kw = kernel_size[0], kernel_size[len(kernel_size) - 1]
sh = stride[0] if len(stride) > 0 else kh
sw = stride[len(stride) - 1] if len(stride) > 0 else kw
ph, pw = padding[0], padding[len(padding) - 1]
inc = 1 if count_include_pad else 0
over = divisor_override if has(divisor_override) else 0
planes = out.numel // max(oh * ow, 1)
rows = scratch(max(planes * h * ow, 1) * 4)
launch("along", grid=cdiv(planes * h * ow, 128), block=128, args=[x, rows, planes * h * ow, w, ow, kw, sw, pw])
launch("down", grid=cdiv(out.numel, 128), block=128, args=[rows, out, out.numel, h, w, oh, ow, kh, kw, sh, sw, ph, pw, inc, over])
@*/

// Sums along the rows first, then sums of these.
extern "C" __global__ void along(const T_self* in, float* rows, long long count, long long w, long long ow, long long kw, long long sw, long long pw) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const T_self* row = in + i / ow * w;
    const long long x0 = i % ow * sw - pw;
    float sum = 0;
    for (long long x = max(x0, 0ll); x < min(x0 + kw, w); ++x) {
        sum += kg::to_float(row[x]);
    }
    rows[i] = sum;
}

extern "C" __global__ void down(const float* rows, T_out* out, long long count, long long h, long long w, long long oh, long long ow,
        long long kh, long long kw, long long sh, long long sw, long long ph, long long pw, int inc, long long over) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % ow, y = i / ow % oh, plane = i / ow / oh;
    const long long y0 = y * sh - ph, x0 = x * sw - pw;
    const long long y1 = min(y0 + kh, h + ph), x1 = min(x0 + kw, w + pw);
    float sum = 0;
    for (long long iy = max(y0, 0ll); iy < min(y1, h); ++iy) {
        sum += rows[(plane * h + iy) * ow + x];
    }
    const long long within = max(min(y1, h) - max(y0, 0ll), 0ll) * max(min(x1, w) - max(x0, 0ll), 0ll);
    const long long divisor = over != 0 ? over : inc ? (y1 - y0) * (x1 - x0) : within;
    out[i] = kg::from_float<T_out>(sum / static_cast<float>(divisor));
}
