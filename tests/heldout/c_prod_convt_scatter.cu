/*@plan
x = contiguous(input)
w = contiguous(weight)
bb = contiguous(bias)
@GEO@
sums = scratch(max(out.numel, 1) * 4, zero=True)
cog = co // groups
work = input.numel * cog
launch("spread", grid=cdiv(work, 128), block=128, args=[x, w, sums, work, cog, groups, ci, ih, iw, co, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw])
launch("store", grid=cdiv(out.numel, 128), block=128, args=[sums, bb, out, out.numel, co, oh * ow])
@*/

// Each input is spread over the outputs by atomics in f32.
extern "C" __global__ void spread(const T_input* x, const T_weight* w, float* sums, long long work, long long cog,
        long long groups, long long ci, long long ih, long long iw, long long co, long long oh, long long ow,
        long long kh, long long kw, long long sh, long long sw, long long ph, long long pw, long long dh, long long dw) {
    const long long t = blockIdx.x * 128ll + threadIdx.x;
    if (t >= work) {
        return;
    }
    const long long ix = t % iw, iy = t / iw % ih, o = t / iw / ih % cog, c = t / iw / ih / cog % ci, z = t / iw / ih / cog / ci;
    const float value = kg::to_float(x[((z * ci + c) * ih + iy) * iw + ix]);
    const long long to = c / (ci / groups) * cog + o;
    for (long long ty = 0; ty < kh; ++ty) {
        for (long long tx = 0; tx < kw; ++tx) {
            const long long oy = iy * sh + ty * dh - ph;
            const long long ox = ix * sw + tx * dw - pw;
            if (oy >= 0 && oy < oh && ox >= 0 && ox < ow) {
                atomicAdd(&sums[((z * co + to) * oh + oy) * ow + ox], value * kg::to_float(w[((c * cog + o) * kh + ty) * kw + tx]));
            }
        }
    }
}

extern "C" __global__ void store(const float* sums, const T_bias* bias, T_out* out, long long count, long long co, long long plane) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < count) {
        out[i] = kg::from_float<T_out>(sums[i] + (bias != nullptr ? kg::to_float(bias[i / plane % co]) : 0.0f));
    }
}
