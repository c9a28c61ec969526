// Baseline of scaled_mm: a thread per element, its products summed in order in f32.
/*@plan
m, k = self.shape
n = mat2.shape[1]
a_each = scale_a.stride[0] if scale_a.ndim == 2 and m > 1 else 0
b_each = scale_b.stride[1] if scale_b.ndim == 2 and n > 1 else 0
bias_each = 0
if has(bias):
    bias_each = bias.stride[0]
launch("scaled_mm", grid=cdiv(out.numel, 256), block=256,
       args=[self, mat2, scale_a, scale_b, bias, out, out.numel, n, k, self.stride[0],
             self.stride[1], mat2.stride[0], mat2.stride[1], a_each, b_each, bias_each])
@*/

extern "C" __global__ void scaled_mm(
    const T_self* __restrict__ a, const T_mat2* __restrict__ b, const float* __restrict__ scale_a,
    const float* __restrict__ scale_b, const T_bias* __restrict__ bias, T_out* __restrict__ out,
    long long count, int n, int k, long long a_row, long long a_column, long long b_row,
    long long b_column, long long a_each, long long b_each, long long bias_each) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long row = i / n;
    const int column = i % n;
    float sum = 0.0f;
    for (int l = 0; l < k; ++l) {
        const T_self x = a[row * a_row + l * a_column];
        sum = fmaf(kg::to_float(x), kg::to_float(b[l * b_row + column * b_column]), sum);
    }
    float value = sum * scale_a[row * a_each] * scale_b[column * b_each];
    if (bias) {
        value += kg::to_float(bias[column * bias_each]);
    }
    // The conversion to an fp8 type saturates.
    out[i] = kg::from_float<T_out>(value);
}
