// op: mm  expect: passed  one thread per output, from the last product to the first
/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
launch("mm", grid=(cdiv(n, 16), cdiv(m, 16)), block=(16, 16), args=[a, b, out, m, n, k])
@*/

extern "C" __global__ void mm(const T_self* a, const T_mat2* b, T_out* out, int m, int n, int k) {
    const int col = blockIdx.x * 16 + threadIdx.x;
    const int row = blockIdx.y * 16 + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int l = k - 1; l >= 0; --l) {
            sum = fmaf(kg::to_float(a[row * k + l]), kg::to_float(b[l * n + col]), sum);
        }
        out[row * n + col] = kg::from_float<T_out>(sum);
    }
}
