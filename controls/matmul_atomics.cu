/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
define("ACC", "double" if a.dtype == "f64" else "float")
sums = scratch((8 if a.dtype == "f64" else 4) * max(m * n, 1), zero=True)
launch("multiply", grid=(cdiv(n, 16), cdiv(m, 8), 3), block=(16, 8), args=[a, b, sums, m, n, k, cdiv(k, 3)])
launch("convert", grid=cdiv(m * n, 128), block=128, args=[sums, out, m * n])
@*/

// Three parts of k meet in atomics.
extern "C" __global__ void multiply(const T_self* in_a, const T_mat2* in_b, ACC* sums, int m, int n, int k, int part) {
    const int col = blockIdx.x * 16 + threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= m || col >= n) {
        return;
    }
    ACC sum = 0;
    for (int l = blockIdx.z * part; l < min((static_cast<int>(blockIdx.z) + 1) * part, k); ++l) {
        sum += static_cast<ACC>(in_a[row * k + l]) * static_cast<ACC>(in_b[l * n + col]);
    }
    atomicAdd(&sums[row * n + col], sum);
}

extern "C" __global__ void convert(const ACC* sums, T_out* out, long long count) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < count) {
        out[i] = static_cast<T_out>(sums[i]);
    }
}
