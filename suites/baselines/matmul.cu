// Baseline of matmul: a thread per element, its products summed in order in f32; the strides of
// the factors are passed, so that nothing is copied. Up to three dimensions before the matrices.
/*@plan
a, b = self, other
m = a.shape[-2] if a.ndim > 1 else 1
n = b.shape[-1] if b.ndim > 1 else 1
k = a.shape[-1]
a_row = a.stride[-2] if a.ndim > 1 else 0
b_column = b.stride[-1] if b.ndim > 1 else 0
b_row = b.stride[-2] if b.ndim > 1 else b.stride[0]

n_batch = out.ndim - (1 if a.ndim > 1 else 0) - (1 if b.ndim > 1 else 0)
require(n_batch <= 3)
inner = out.shape[n_batch - 1] if n_batch > 0 else 1
middle = out.shape[n_batch - 2] if n_batch > 1 else 1
a2 = a.stride[-3] if a.ndim > 2 and a.shape[-3] > 1 else 0
a1 = a.stride[-4] if a.ndim > 3 and a.shape[-4] > 1 else 0
a0 = a.stride[-5] if a.ndim > 4 and a.shape[-5] > 1 else 0
b2 = b.stride[-3] if b.ndim > 2 and b.shape[-3] > 1 else 0
b1 = b.stride[-4] if b.ndim > 3 and b.shape[-4] > 1 else 0
b0 = b.stride[-5] if b.ndim > 4 and b.shape[-5] > 1 else 0
launch("matmul", grid=cdiv(out.numel, 256), block=256,
       args=[a, b, out, out.numel, m, n, k, inner, middle, a0, a1, a2, a_row, a.stride[-1],
             b0, b1, b2, b_row, b_column])
@*/

extern "C" __global__ void matmul(const T_self* __restrict__ a, const T_other* __restrict__ b,
                                  T_out* __restrict__ out, long long count, int m, int n, int k,
                                  int inner, int middle, long long a0, long long a1, long long a2,
                                  long long a_row, long long a_column, long long b0, long long b1,
                                  long long b2, long long b_row, long long b_column) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long batch = i / n / m;
    const long long at2 = batch % inner;
    const long long at1 = batch / inner % middle;
    const long long at0 = batch / inner / middle;
    const T_self* x = a + at0 * a0 + at1 * a1 + at2 * a2 + i / n % m * a_row;
    const T_other* y = b + at0 * b0 + at1 * b1 + at2 * b2 + i % n * b_column;
    float sum = 0.0f;
    for (int l = 0; l < k; ++l) {
        sum = fmaf(kg::to_float(x[l * a_column]), kg::to_float(y[l * b_row]), sum);
    }
    out[i] = kg::from_float<T_out>(sum);
}
