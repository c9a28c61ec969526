/*@plan
m, k = self.shape[0], self.shape[1]
n = mat2.shape[1]
launch("roles", grid=cdiv(m, 16) * cdiv(n, 16), block=96,
       args=[self, mat2, out, m, n, k, self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
@*/
// One warp loads tiles of 16 by 16, two warps multiply; named barriers hand over two buffers.
__device__ __forceinline__ void wait_at(int id) { asm volatile("bar.sync %0, 96;" ::"r"(id) : "memory"); }
__device__ __forceinline__ void arrive_at(int id) { asm volatile("bar.arrive %0, 96;" ::"r"(id) : "memory"); }
extern "C" __global__ void __launch_bounds__(96)
roles(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ out, long long m, long long n, long long k,
      long long a0, long long a1, long long b0, long long b1) {
  __shared__ struct Stage { float a[16][17], b[16][17]; } stages[2];
  const long long wide = (n + 15) / 16;
  const long long row0 = blockIdx.x / wide * 16, col0 = blockIdx.x % wide * 16;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long steps = (k + 15) / 16;
  if (warp == 2) {
    for (long long s = 0; s < steps; ++s) {
      const int at = s & 1;
      if (s > 1) wait_at(3 + at);
      for (int i = lane; i < 256; i += 32) {
        const int y = i / 16, x = i % 16;
        stages[at].a[y][x] = row0 + y < m && s * 16 + x < k ? kg::to_float(a[(row0 + y) * a0 + (s * 16 + x) * a1]) : 0.0f;
        stages[at].b[y][x] = s * 16 + y < k && col0 + x < n ? kg::to_float(b[(s * 16 + y) * b0 + (col0 + x) * b1]) : 0.0f;
      }
      __threadfence_block();
      arrive_at(1 + at);
    }
  } else {
    const int t = threadIdx.x, y = t / 4, x = t % 4;
    float sum[4] = {};
    for (long long s = 0; s < steps; ++s) {
      const int at = s & 1;
      wait_at(1 + at);
#pragma unroll 4
      for (int i = 0; i < 16; ++i)
        for (int c = 0; c < 4; ++c) sum[c] = fmaf(stages[at].a[y][i], stages[at].b[i][x + c * 4], sum[c]);
      if (s + 2 < steps) arrive_at(3 + at);
    }
    for (int c = 0; c < 4; ++c)
      if (row0 + y < m && col0 + x + c * 4 < n) out[(row0 + y) * n + col0 + x + c * 4] = kg::from_float<T_out>(sum[c]);
  }
}
