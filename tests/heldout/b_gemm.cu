/*@plan
alpha_ = 1.0
beta_ = 1.0
live = 1
@SHAPE@
tiles_n = cdiv(n, 32)
tiles_m = cdiv(m, 32)
launch("product", grid=tiles_n * tiles_m * batch, block=(16, 16),
       args=[@A@, @B@, @C@, out, m, n, k * live, tiles_m, tiles_n,
             a0, a1, a2, b0, b1, b2, alpha_, beta_])
@*/
using TA = T_@A@;
using TB = T_@B@;
using TC = T_@TC@;
// A 32 by 32 tile of one product per block, 2 by 2 results per thread.
extern "C" __global__ void __launch_bounds__(256)
product(const TA* __restrict__ a, const TB* __restrict__ b, const TC* __restrict__ c, T_out* __restrict__ out,
        long long m, long long n, long long k, long long tiles_m, long long tiles_n, long long a0, long long a1,
        long long a2, long long b0, long long b1, long long b2, float alpha, float beta) {
  __shared__ float as[16][33];
  __shared__ float bs[16][33];
  const int tx = threadIdx.x, ty = threadIdx.y, tid = ty * 16 + tx;
  const long long tile = blockIdx.x;
  const long long item = tile / (tiles_m * tiles_n);
  const long long row0 = tile / tiles_n % tiles_m * 32, col0 = tile % tiles_n * 32;
  a += item * a0;
  b += item * b0;
  float s00 = 0, s01 = 0, s10 = 0, s11 = 0;
  for (long long k0 = 0; k0 < k; k0 += 16) {
    for (int i = tid; i < 512; i += 256) {
      const int kk = i % 16, r = i / 16;
      const long long ka = k0 + kk;
      as[kk][r] = row0 + r < m && ka < k ? kg::to_float(a[(row0 + r) * a1 + ka * a2]) : 0.0f;
      const int col = i % 32, kr = i / 32;
      const long long kb = k0 + kr;
      bs[kr][col] = col0 + col < n && kb < k ? kg::to_float(b[kb * b1 + (col0 + col) * b2]) : 0.0f;
    }
    __syncthreads();
    for (int kk = 0; kk < 16; ++kk) {
      const float x0 = as[kk][ty], x1 = as[kk][ty + 16], y0 = bs[kk][tx], y1 = bs[kk][tx + 16];
      s00 += x0 * y0;
      s01 += x0 * y1;
      s10 += x1 * y0;
      s11 += x1 * y1;
    }
    __syncthreads();  // used up
  }
  const float sums[4] = {s00, s01, s10, s11};
  for (int i = 0; i < 4; ++i) {
    const long long r = row0 + ty + i / 2 * 16, q = col0 + tx + i % 2 * 16;
    if (r < m && q < n) {
      const long long at = (item * m + r) * n + q;
      float value = alpha * sums[i];
      if (c) value += beta * kg::to_float(c[at]);
      out[at] = kg::from_float<T_out>(value);
    }
  }
}
