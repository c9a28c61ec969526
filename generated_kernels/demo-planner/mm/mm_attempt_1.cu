/*@plan
m = self.shape[0]
k = self.shape[1]
n = mat2.shape[1]
launch("mm", grid=(cdiv(n, 64), cdiv(m, 64)), block=256, args=[self, mat2, out, m, n, k, self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
@*/
constexpr int TILE = 64;
constexpr int DEPTH = 16;

extern "C" __global__ void __launch_bounds__(256)
mm(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c, long long m, long long n,
   long long k, long long as0, long long as1, long long bs0, long long bs1) {
  __shared__ float ta[DEPTH][TILE + 4];
  __shared__ float tb[DEPTH][TILE + 4];
  const long long row0 = blockIdx.y * (long long)TILE;
  const long long col0 = blockIdx.x * (long long)TILE;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float acc[4][4] = {};
  for (long long k0 = 0; k0 < k; k0 += DEPTH) {
#pragma unroll
    for (int e = threadIdx.x; e < TILE * DEPTH; e += 256) {
      const int i = e / DEPTH, l = e % DEPTH;
      const long long row = row0 + i, at = k0 + l;
      ta[l][i] = row < m && at < k ? kg::to_float(a[row * as0 + at * as1]) : 0.0f;
      const int j = e % TILE, q = e / TILE;
      const long long col = col0 + j, bt = k0 + q;
      tb[q][j] = col < n && bt < k ? kg::to_float(b[bt * bs0 + col * bs1]) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < DEPTH; ++l) {
      float fa[4], fb[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        fa[i] = ta[l][ty * 4 + i];
        fb[i] = tb[l][tx * 4 + i];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] += fa[i] * fb[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long row = row0 + ty * 4 + i, col = col0 + tx * 4 + j;
      if (row < m && col < n) c[row * n + col] = kg::from_float<T_out>(acc[i][j]);
    }
}
