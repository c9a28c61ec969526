/*@plan
x = contiguous(input)
w = contiguous(weight)
bb = contiguous(bias)
@GEO@
taps = ci // groups * kh * kw
images = out.numel // max(co * oh * ow, 1)
cells = images * groups * oh * ow * taps
cols = scratch(max(cells, 1) * 4)
launch("unfold", grid=cdiv(cells, 128), block=128, args=[x, cols, cells, taps, groups, ci, ih, iw, co, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw])
launch("multiply", grid=cdiv(out.numel, 128), block=128, args=[cols, w, bb, out, out.numel, taps, groups, co, oh * ow])
@*/

// Every window as a row of f32, and then a product of matrices.
extern "C" __global__ void unfold(const T_input* x, float* cols, long long cells, long long taps,
        long long groups, long long ci, long long ih, long long iw, long long co, long long oh, long long ow,
        long long kh, long long kw, long long sh, long long sw, long long ph, long long pw, long long dh, long long dw) {
    const long long t = blockIdx.x * 128ll + threadIdx.x;
    if (t >= cells) {
        return;
    }
    const long long tap = t % taps, place = t / taps;
    const long long tx = tap % kw, ty = tap / kw % kh, c = tap / kw / kh;
    const long long ox = place % ow, oy = place / ow % oh, g = place / ow / oh % groups, z = place / ow / oh / groups;
    const long long iy = oy * sh + ty * dh - ph;
    const long long ix = ox * sw + tx * dw - pw;
    const bool inside = iy >= 0 && iy < ih && ix >= 0 && ix < iw;
    cols[t] = inside ? kg::to_float(x[((z * ci + g * (ci / groups) + c) * ih + iy) * iw + ix]) : 0.0f;
}

extern "C" __global__ void multiply(const float* cols, const T_weight* w, const T_bias* bias, T_out* out, long long count,
        long long taps, long long groups, long long co, long long plane) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long place = i % plane, o = i / plane % co, z = i / plane / co;
    const long long g = o / (co / groups);
    const float* row = cols + ((z * groups + g) * plane + place) * taps;
    float sum = bias != nullptr ? kg::to_float(bias[o]) : 0.0f;
    for (long long t = 0; t < taps; ++t) {
        sum = fmaf(row[t], kg::to_float(w[o * taps + t]), sum);
    }
    out[i] = kg::from_float<T_out>(sum);
}
