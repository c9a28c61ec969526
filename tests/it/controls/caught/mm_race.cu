// op: mm  expect: race  shared tiles without a barrier between filling and using them
/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
launch("mm", grid=(cdiv(n, 16), cdiv(m, 16)), block=(16, 16), args=[a, b, out, m, n, k])
@*/

extern "C" __global__ void mm(const T_self* a, const T_mat2* b, T_out* out, int m, int n, int k) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    const int col = blockIdx.x * 16 + threadIdx.x;
    const int row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 16) {
        const int at_a = k0 + threadIdx.x;
        const int at_b = k0 + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && at_a < k ? kg::to_float(a[row * k + at_a]) : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = col < n && at_b < k ? kg::to_float(b[at_b * n + col]) : 0.0f;
        __syncthreads();
        for (int l = 0; l < 16; ++l) {
            sum += tile_a[threadIdx.y][l] * tile_b[l][threadIdx.x];
        }
        // The barrier that keeps the next round from overwriting the tiles is missing.
    }
    if (row < m && col < n) {
        out[row * n + col] = kg::from_float<T_out>(sum);
    }
}
