/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
launch("multiply", grid=(cdiv(m, 8), cdiv(n, 32)), block=(32, 8), args=[a, b, out, m, n, k])
@*/

// A thread per output.
extern "C" __global__ void multiply(const T_self* a, const T_mat2* b, T_out* out, long long m, long long n, long long k) {
    const long long row = blockIdx.x * 8ll + threadIdx.y;
    const long long column = blockIdx.y * 32ll + threadIdx.x;
    if (row >= m || column >= n) {
        return;
    }
    float sum = 0;
    for (long long t = 0; t < k; ++t) {
        const float u = kg::to_float(a[row * k + t]);
        const float v = kg::to_float(b[t * n + column]);
        sum = fmaf(u, v, sum);
    }
    out[row * n + column] = kg::from_float<T_out>(sum);
}
