/*@plan
m, k = self.shape[0], self.shape[1]
n = mat2.shape[1]
launch("mm_relu", grid=(cdiv(n, 64), cdiv(m, 64)), block=(16, 16),
       args=[self, mat2, out, m, n, k,          # strided factors are read as they are: no copies
             self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
@*/
extern "C" __global__ void __launch_bounds__(256)
mm_relu(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ out,
        long long m, long long n, long long k,
        long long a_row, long long a_col, long long b_row, long long b_col) {
  __shared__ float as[16][64 + 2];              // padded: 16 by 2 column writes meet 32 banks
  __shared__ float bs[16][64];                  // rows are written and read along their length
  const int tid = threadIdx.y * 16 + threadIdx.x;
  const long long row0 = blockIdx.y * 64LL, col0 = blockIdx.x * 64LL;
  float sum[4][4] = {};                         // a 4x4 part of the tile per thread, in f32
  for (long long k0 = 0; k0 < k; k0 += 16) {
    for (int i = tid; i < 64 * 16; i += 256) {  // zeros outside keep every tile whole
      const int ar = i / 16, ak = i % 16, bk = i / 64, bc = i % 64;
      as[ak][ar] = row0 + ar < m && k0 + ak < k
                       ? kg::to_float(a[(row0 + ar) * a_row + (k0 + ak) * a_col]) : 0.0f;
      bs[bk][bc] = k0 + bk < k && col0 + bc < n
                       ? kg::to_float(b[(k0 + bk) * b_row + (col0 + bc) * b_col]) : 0.0f;
    }
    __syncthreads();                            // the tiles are complete
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      float x[4], y[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        x[i] = as[kk][threadIdx.y * 4 + i];
        y[i] = bs[kk][threadIdx.x * 4 + i];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
    }
    __syncthreads();                            // and used up before they are written again
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long r = row0 + threadIdx.y * 4 + i, c = col0 + threadIdx.x * 4 + j;
      const float value = sum[i][j] < 0.0f ? 0.0f : sum[i][j];   // NaN stays NaN
      if (r < m && c < n) out[r * n + c] = kg::from_float<T_out>(value);
    }
}
