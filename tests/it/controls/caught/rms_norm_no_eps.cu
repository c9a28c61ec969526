// op: rms_norm  expect: wrong_output  leaves eps out: a row of zeros becomes NaN, small rows come out too large
/*@plan
x = contiguous(input)
w = contiguous(weight)
length = 1
for extent in normalized_shape:
    length *= extent
rows = x.numel // max(length, 1)
launch("rms_norm", grid=cdiv(rows, 64), block=64, args=[x, w, out, rows, length])
@*/

extern "C" __global__ void rms_norm(const T_input* x, const T_weight* w, T_out* out, long long rows,
                                    int length) {
    const long long row = blockIdx.x * 64ll + threadIdx.x;
    if (row >= rows) {
        return;
    }
    x += row * length;
    out += row * length;
    float squares = 0.0f;
    for (int i = 0; i < length; ++i) {
        squares += kg::to_float(x[i]) * kg::to_float(x[i]);
    }
    const float scale = 1.0f / sqrtf(squares / length);
    for (int i = 0; i < length; ++i) {
        const float gain = w != nullptr ? kg::to_float(w[i]) : 1.0f;
        out[i] = kg::from_float<T_out>(kg::to_float(x[i]) * scale * gain);
    }
}
