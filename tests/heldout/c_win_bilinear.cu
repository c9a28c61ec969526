/*@plan
x = contiguous(self)
h = self.shape[2]
w = self.shape[3]
oh = out.shape[2]
ow = out.shape[3]
fh = scales_h if has(scales_h) else 0.0
fw = scales_w if has(scales_w) else 0.0
corners = 1 if align_corners else 0
launch("resize", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, h, w, oh, ow, corners, fh, fw])
@*/

// Where output y lies in the input.
__device__ float place(long long y, double scale, long long in, long long out, int corners) {
    if (corners) {
        return out > 1 ? static_cast<float>(y) * (static_cast<float>(in - 1) / static_cast<float>(out - 1)) : 0.0f;
    }
    const float step = scale > 0 ? static_cast<float>(1.0 / scale) : static_cast<float>(in) / static_cast<float>(out);
    const float at = step * (static_cast<float>(y) + 0.5f) - 0.5f;
    return fmaxf(at, 0.0f);
}

extern "C" __global__ void resize(const T_self* in, T_out* out, long long count, long long h, long long w, long long oh, long long ow,
        int corners, double fh, double fw) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % ow;
    const long long y = i / ow % oh;
    const T_self* plane = in + i / ow / oh * h * w;
    const float py = place(y, fh, h, oh, corners);
    const float px = place(x, fw, w, ow, corners);
    const long long ya = min(static_cast<long long>(py), h - 1);
    const long long xa = min(static_cast<long long>(px), w - 1);
    const long long yb = min(ya + 1, h - 1);
    const long long xb = min(xa + 1, w - 1);
    const float wy = fminf(fmaxf(py - static_cast<float>(ya), 0.0f), 1.0f);
    const float wx = fminf(fmaxf(px - static_cast<float>(xa), 0.0f), 1.0f);
    const float a = kg::to_float(plane[ya * w + xa]);
    const float b = kg::to_float(plane[ya * w + xb]);
    const float c = kg::to_float(plane[yb * w + xa]);
    const float d = kg::to_float(plane[yb * w + xb]);
    const float top = (1 - wx) * a + wx * b;
    const float bottom = (1 - wx) * c + wx * d;
    const float result = (1 - wy) * top + wy * bottom;
    out[i] = kg::from_float<T_out>(result);
}
