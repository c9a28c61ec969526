/*@plan
x = contiguous(self)
h = self.shape[2]
w = self.shape[3]
oh = out.shape[2]
ow = out.shape[3]
fh = scales_h if has(scales_h) else 0.0
fw = scales_w if has(scales_w) else 0.0
launch("resize", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, h, w, oh, ow, fh, fw])
@*/

// The step in f32.
__device__ float step(double scale, long long in, long long out) {
    return scale > 0 ? static_cast<float>(1.0 / scale) : static_cast<float>(in) / static_cast<float>(out);
}

__device__ long long source(long long y, double scale, long long in, long long out) {
    const long long from = static_cast<long long>(floorf(static_cast<float>(y) * step(scale, in, out)));
    return min(from, in - 1);
}

extern "C" __global__ void resize(const T_self* in, T_out* out, long long count, long long h, long long w, long long oh, long long ow,
        double fh, double fw) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % ow;
    const long long y = i / ow % oh;
    const T_self* plane = in + i / ow / oh * h * w;
    const T_self value = plane[source(y, fh, h, oh) * w + source(x, fw, w, ow)];
    out[i] = value;
}
