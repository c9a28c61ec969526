/*@plan
x = contiguous(input)
w = contiguous(weight)
@PLAN@
len_ = 1
for extent in normalized_shape:
    len_ *= extent
n = x.numel // max(len_, 1)
define("ACC", "double" if x.dtype == "f64" else "float")
launch("normalise", grid=cdiv(n, 32), block=32, args=[x, w, @ARGS@out, n, len_, eps])
@*/

// A thread per row.
extern "C" __global__ void normalise(const T_input* in, const T_weight* w, @PARAMS@T_out* out, long long n, int len, ACC eps) {
    const long long row = blockIdx.x * 32ll + threadIdx.x;
    if (row >= n) {
        return;
    }
    const T_input* x = in + row * len;
    @MEAN@
    ACC squares = 0;
    for (int i = 0; i < len; ++i) {
        const ACC d = static_cast<ACC>(x[i])@CENTRE@;
        squares = squares + d * d;
    }
    const ACC variance = squares / len;
    const ACC scale = 1 / sqrt(variance + eps);
    for (int k = 0; k < len; ++k) {
        const ACC d = static_cast<ACC>(x[k])@CENTRE@;
        const ACC gain = w != nullptr ? static_cast<ACC>(w[k]) : ACC(1);
        const ACC y = d * scale * gain@SHIFT@;
        out[row * len + k] = static_cast<T_out>(y);
    }
}
