// op: layer_norm  expect: wrong_output  divides the variance by N - 1
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
length = 1
for extent in normalized_shape:
    length *= extent
rows = x.numel // max(length, 1)
launch("layer_norm", grid=cdiv(rows, 64), block=64, args=[x, w, b, out, rows, length, eps])
@*/

extern "C" __global__ void layer_norm(const T_input* x, const T_weight* w, const T_bias* b, T_out* out,
                                      long long rows, int length, float eps) {
    const long long row = blockIdx.x * 64ll + threadIdx.x;
    if (row >= rows) {
        return;
    }
    x += row * length;
    out += row * length;
    float sum = 0.0f;
    for (int i = 0; i < length; ++i) {
        sum += kg::to_float(x[i]);
    }
    const float mean = sum / length;
    float squares = 0.0f;
    for (int i = 0; i < length; ++i) {
        const float value = kg::to_float(x[i]) - mean;
        squares += value * value;
    }
    const float variance = squares / max(length - 1, 1);
    const float scale = 1.0f / sqrtf(variance + eps);
    for (int i = 0; i < length; ++i) {
        const float gain = w != nullptr ? kg::to_float(w[i]) : 1.0f;
        const float shift = b != nullptr ? kg::to_float(b[i]) : 0.0f;
        out[i] = kg::from_float<T_out>((kg::to_float(x[i]) - mean) * scale * gain + shift);
    }
}
