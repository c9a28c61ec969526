/*@plan
minb = param("MINB", [2, 1])
m, k = a.shape[0], a.shape[1]
n = b.shape[1]
fa = a.stride[1] == 1 and a.stride[0] % 4 == 0 and a.align >= 16
fb = b.stride[1] == 1 and b.stride[0] % 4 == 0 and b.align >= 16
if fa and fb and m >= 64 and n >= 64 and n % 4 == 0 and k >= 16 and k % 16 == 0:
    launch("mm_fast", grid=(cdiv(n, 128), cdiv(m, 128)), block=256,
           args=[a, b, out, m, n, k, a.stride[0], b.stride[0]])
else:
    launch("mm_any", grid=(cdiv(n, 64), cdiv(m, 64)), block=(16, 16),
           args=[a, b, out, m, n, k, a.stride[0], a.stride[1], b.stride[0], b.stride[1]])
@*/

// Row-major factors with aligned rows, k a multiple of 16, n of 4. Rows and columns outside are
// clamped to valid ones: they only reach results that are not stored.
extern "C" __global__ void __launch_bounds__(256, MINB)
mm_fast(const T_a* __restrict__ a, const T_b* __restrict__ b, T_out* __restrict__ out,
        long long m, long long n, long long k, long long lda, long long ldb) {
  __shared__ __align__(16) float as[2][16 * 128];   // [k][row ^ (k / 4 * 8)]
  __shared__ __align__(16) float bs[2][16 * 128];   // [k][column]
  const int tid = threadIdx.x;
  const int lane = tid & 31, warp = tid >> 5;
  const int am = (warp >> 1) * 32 + ((lane & 1) | ((lane >> 4) << 1)) * 4;   // rows am.., am + 16..
  const int bn = (warp & 1) * 64 + ((lane >> 1) & 7) * 4;                    // columns bn.., bn + 32..
  const long long row0 = blockIdx.y * 128LL, col0 = blockIdx.x * 128LL;

  const int r = tid >> 2, kq = tid & 3;
  const int a_st = kq * 4 * 128 + (r ^ (kq * 8));
  long long r0 = row0 + r, r1 = row0 + r + 64;
  if (r0 > m - 1) r0 = m - 1;
  if (r1 > m - 1) r1 = m - 1;
  const T_a* pa0 = a + r0 * lda + kq * 4;
  const T_a* pa1 = a + r1 * lda + kq * 4;

  const int kb = tid >> 5, cb = (tid & 31) * 4;
  const int b_st = kb * 128 + cb;
  long long c0 = col0 + cb;
  if (c0 > n - 4) c0 = n - 4;
  const T_b* pb0 = b + kb * ldb + c0;
  const T_b* pb1 = pb0 + 8 * ldb;
  const long long b_step = 16 * ldb;

  float acc[8][8] = {};
  const int tiles = static_cast<int>(k / 16);

  float4 a0 = *reinterpret_cast<const float4*>(pa0);
  float4 a1 = *reinterpret_cast<const float4*>(pa1);
  float4 b0 = *reinterpret_cast<const float4*>(pb0);
  float4 b1 = *reinterpret_cast<const float4*>(pb1);
  {
    float* s = &as[0][a_st];
    s[0] = a0.x; s[128] = a0.y; s[256] = a0.z; s[384] = a0.w;
    s[64] = a1.x; s[192] = a1.y; s[320] = a1.z; s[448] = a1.w;
    *reinterpret_cast<float4*>(&bs[0][b_st]) = b0;
    *reinterpret_cast<float4*>(&bs[0][b_st + 1024]) = b1;
  }
  __syncthreads();

  for (int t = 0; t < tiles; ++t) {
    const bool more = t + 1 < tiles;
    if (more) {
      pa0 += 16; pa1 += 16; pb0 += b_step; pb1 += b_step;
      a0 = *reinterpret_cast<const float4*>(pa0);
      a1 = *reinterpret_cast<const float4*>(pa1);
      b0 = *reinterpret_cast<const float4*>(pb0);
      b1 = *reinterpret_cast<const float4*>(pb1);
    }
    const float* sa = as[t & 1];
    const float* sb = bs[t & 1];
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      const int base = am ^ (((kk >> 2) & 1) * 8);
      const int o = (kk >> 3) * 16;
      const float4 x0 = *reinterpret_cast<const float4*>(sa + kk * 128 + base + o);
      const float4 x1 = *reinterpret_cast<const float4*>(sa + kk * 128 + base + (16 - o));
      const float4 y0 = *reinterpret_cast<const float4*>(sb + kk * 128 + bn);
      const float4 y1 = *reinterpret_cast<const float4*>(sb + kk * 128 + bn + 32);
      const float xv[8] = {x0.x, x0.y, x0.z, x0.w, x1.x, x1.y, x1.z, x1.w};
      const float yv[8] = {y0.x, y0.y, y0.z, y0.w, y1.x, y1.y, y1.z, y1.w};
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(xv[i], yv[j], acc[i][j]);
    }
    if (more) {
      float* s = &as[(t + 1) & 1][a_st];
      s[0] = a0.x; s[128] = a0.y; s[256] = a0.z; s[384] = a0.w;
      s[64] = a1.x; s[192] = a1.y; s[320] = a1.z; s[448] = a1.w;
      float* u = &bs[(t + 1) & 1][b_st];
      *reinterpret_cast<float4*>(u) = b0;
      *reinterpret_cast<float4*>(u + 1024) = b1;
      __syncthreads();
    }
  }

#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const long long row = row0 + am + (i & 3) + (i >> 2) * 16;
    if (row < m) {
      T_out* to = out + row * n;
      const long long c = col0 + bn;
      if (c < n)
        *reinterpret_cast<float4*>(to + c) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
      if (c + 32 < n)
        *reinterpret_cast<float4*>(to + c + 32) = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
    }
  }
}

// Any strides and sizes.
extern "C" __global__ void __launch_bounds__(256)
mm_any(const T_a* __restrict__ a, const T_b* __restrict__ b, T_out* __restrict__ out,
       long long m, long long n, long long k,
       long long a_row, long long a_col, long long b_row, long long b_col) {
  __shared__ float as[16][64 + 2];
  __shared__ float bs[16][64];
  const int tid = threadIdx.y * 16 + threadIdx.x;
  const long long row0 = blockIdx.y * 64LL, col0 = blockIdx.x * 64LL;
  float sum[4][4] = {};
  for (long long k0 = 0; k0 < k; k0 += 16) {
    for (int i = tid; i < 64 * 16; i += 256) {
      const int ar = i / 16, ak = i % 16, bk = i / 64, bc = i % 64;
      as[ak][ar] = row0 + ar < m && k0 + ak < k
                       ? kg::to_float(a[(row0 + ar) * a_row + (k0 + ak) * a_col]) : 0.0f;
      bs[bk][bc] = k0 + bk < k && col0 + bc < n
                       ? kg::to_float(b[(k0 + bk) * b_row + (col0 + bc) * b_col]) : 0.0f;
    }
    __syncthreads();
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
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long r = row0 + threadIdx.y * 4 + i, c = col0 + threadIdx.x * 4 + j;
      if (r < m && c < n) out[r * n + c] = kg::from_float<T_out>(sum[i][j]);
    }
}
