/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
define("ACC", "double" if a.dtype == "f64" else "float")
launch("multiply", grid=(cdiv(n, 16), cdiv(m, 16)), block=(16, 16), args=[a, b, out, m, n, k])
@*/

// Tiles of both inputs go through shared memory.
extern "C" __global__ void multiply(const T_self* in_a, const T_mat2* in_b, T_out* out, int m, int n, int k) {
    __shared__ ACC tile_a[16][17];
    __shared__ ACC tile_b[16][17];
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int col = blockIdx.x * 16 + x;
    const int row = blockIdx.y * 16 + y;
    ACC sum = 0;
    for (int k0 = 0; k0 < k; k0 += 16) {
        tile_a[y][x] = row < m && k0 + x < k ? static_cast<ACC>(in_a[row * k + k0 + x]) : ACC(0);
        tile_b[y][x] = col < n && k0 + y < k ? static_cast<ACC>(in_b[(k0 + y) * n + col]) : ACC(0);
        __syncthreads();
        const int depth = min(16, k - k0);
        for (int l = 0; l < depth; ++l) {
            sum += tile_a[y][l] * tile_b[l][x];
        }
        __syncthreads();
    }
    if (row < m && col < n) {
        out[row * n + col] = static_cast<T_out>(sum);
    }
}
