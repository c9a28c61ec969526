/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
define("ACC", "double" if a.dtype == "f64" else "float")
launch("multiply", grid=(cdiv(n, 16), cdiv(m, 8)), block=(16, 8), args=[a, b, out, m, n, k])
@*/

// A thread per output.
extern "C" __global__ void multiply(const T_self* in_a, const T_mat2* in_b, T_out* out, int m, int n, int k) {
    const int col = blockIdx.x * 16 + threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= m || col >= n) {
        return;
    }
    ACC sum = 0;
    for (int l = 0; l < k; ++l) {
        const ACC a = static_cast<ACC>(in_a[row * k + l]);
        const ACC b = static_cast<ACC>(in_b[l * n + col]);
        sum = sum + a * b;
    }
    ACC y = sum;
    out[row * n + col] = static_cast<T_out>(y);
}
