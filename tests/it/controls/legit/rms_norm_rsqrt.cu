// op: rms_norm  expect: passed  a warp per row, rsqrtf
/*@plan
x = contiguous(input)
w = contiguous(weight)
length = 1
for extent in normalized_shape:
    length *= extent
rows = x.numel // max(length, 1)
launch("rms_norm", grid=rows, block=32, args=[x, w, out, length, eps])
@*/

extern "C" __global__ void rms_norm(const T_input* x, const T_weight* w, T_out* out, int length,
                                    float eps) {
    x += static_cast<long long>(blockIdx.x) * length;
    out += static_cast<long long>(blockIdx.x) * length;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < length; i += 32) {
        squares += kg::to_float(x[i]) * kg::to_float(x[i]);
    }
    for (int lane = 1; lane < 32; lane *= 2) {
        squares += __shfl_xor_sync(0xffffffffu, squares, lane);
    }
    const float scale = rsqrtf(squares / length + eps);
    for (int i = threadIdx.x; i < length; i += 32) {
        const float gain = w != nullptr ? kg::to_float(w[i]) : 1.0f;
        out[i] = kg::from_float<T_out>(kg::to_float(x[i]) * scale * gain);
    }
}
