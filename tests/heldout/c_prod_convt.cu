/*@plan
x = contiguous(input)
w = contiguous(weight)
bb = contiguous(bias)
@GEO@
launch("conv", grid=cdiv(out.numel, 128), block=128, args=[x, w, bb, out, out.numel, groups, ci, ih, iw, co, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw])
@*/

// A thread per output gathers what the inputs add to it.
extern "C" __global__ void conv(const T_input* x, const T_weight* w, const T_bias* bias, T_out* out, long long count,
        long long groups, long long ci, long long ih, long long iw, long long co, long long oh, long long ow,
        long long kh, long long kw, long long sh, long long sw, long long ph, long long pw, long long dh, long long dw) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long ox = i % ow;
    const long long oy = i / ow % oh;
    const long long o = i / ow / oh % co;
    const long long z = i / ow / oh / co;
    const long long cig = ci / groups;
    const long long cog = co / groups;
    const long long g = o / cog;
    float sum = 0;
    for (long long c = 0; c < cig; ++c) {
        const long long channel = g * cig + c;
        for (long long ty = 0; ty < kh; ++ty) {
            for (long long tx = 0; tx < kw; ++tx) {
                const long long fy = oy + ph - ty * dh;
                const long long fx = ox + pw - tx * dw;
                if (fy < 0 || fx < 0 || fy % sh != 0 || fx % sw != 0) {
                    continue;
                }
                const long long iy = fy / sh;
                const long long ix = fx / sw;
                if (iy >= ih || ix >= iw) {
                    continue;
                }
                const float value = kg::to_float(x[((z * ci + channel) * ih + iy) * iw + ix]);
                const float tap = kg::to_float(w[((channel * cog + o % cog) * kh + ty) * kw + tx]);
                sum = fmaf(value, tap, sum);
            }
        }
    }
    if (bias != nullptr) {
        sum += kg::to_float(bias[o]);
    }
    out[i] = kg::from_float<T_out>(sum);
}
