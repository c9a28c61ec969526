/*@plan
minb = param("MINB", [2, 1])
w1, w2 = linear1_weight, linear2_weight
m, k = x.shape[0], x.shape[1]
h = w1.shape[0]
n = w2.shape[0]
hidden = ptr(scratch(max(m * h * 4, 16)), 0)
logits = ptr(scratch(max(m * n * 4, 16)), 0)
fx = x.stride[1] == 1 and x.stride[0] % 4 == 0 and x.align >= 16
f1 = w1.stride[1] == 1 and w1.stride[0] % 4 == 0 and w1.align >= 16
f2 = w2.stride[1] == 1 and w2.stride[0] % 4 == 0 and w2.align >= 16
if fx and f1 and m >= 16 and h >= 64 and h % 4 == 0 and k >= 16 and k % 16 == 0:
    launch("first_fast", grid=(cdiv(m, 128), cdiv(h, 128)), block=256,
           args=[x, w1, linear1_bias, hidden, m, h, k, x.stride[0], w1.stride[0],
                 linear1_bias.stride[0]])
else:
    launch("first_any", grid=(cdiv(h, 64), cdiv(m, 64)), block=(16, 16),
           args=[x, w1, linear1_bias, hidden, m, h, k, x.stride[0], x.stride[1],
                 w1.stride[0], w1.stride[1], linear1_bias.stride[0]])
if f2 and m >= 16 and n >= 64 and n % 4 == 0 and h >= 16 and h % 16 == 0:
    launch("second_fast", grid=(cdiv(m, 128), cdiv(n, 128)), block=256,
           args=[hidden, w2, linear2_bias, logits, m, n, h, h, w2.stride[0],
                 linear2_bias.stride[0]])
else:
    launch("second_any", grid=(cdiv(n, 64), cdiv(m, 64)), block=(16, 16),
           args=[hidden, w2, linear2_bias, logits, m, n, h, h, 1,
                 w2.stride[0], w2.stride[1], linear2_bias.stride[0]])
launch("row_logsumexp", grid=cdiv(m, 8), block=256, args=[logits, out, m, n])
@*/

template <int ACT>
__device__ __forceinline__ float activate(float v) {
  if (ACT == 0) return v;
  const float e = expf(-fabsf(v));               // never overflows
  return (v < 0.0f ? e : 1.0f) / (1.0f + e);     // NaN stays NaN
}

// acc = a[row0 + .., :] times b[col0 + .., :] transposed over `tiles` tiles of 16 k from k_first on.
// Both factors have aligned rows of contiguous k. Rows outside are clamped to valid ones: they only
// reach results that are not stored. Shared memory: [k][row ^ (k / 4 * 8)].
__device__ __forceinline__ void gemm_nt(const float* __restrict__ a, const float* __restrict__ b,
                                        long long m, long long n, long long lda, long long ldb,
                                        long long row0, long long col0, long long k_first,
                                        int tiles, float (&acc)[8][8]) {
  __shared__ __align__(16) float as[2][16 * 128];
  __shared__ __align__(16) float bs[2][16 * 128];
  const int tid = threadIdx.x;
  const int lane = tid & 31, warp = tid >> 5;
  const int am = (warp >> 1) * 32 + ((lane & 1) | ((lane >> 4) << 1)) * 4;   // rows am.., am + 16..
  const int bn = (warp & 1) * 64 + ((lane >> 1) & 7) * 4;                    // columns bn.., bn + 32..
  const int r = tid >> 2, kq = tid & 3;
  const int st = kq * 4 * 128 + (r ^ (kq * 8));
  long long r0 = row0 + r, r1 = row0 + r + 64, c0 = col0 + r, c1 = col0 + r + 64;
  if (r0 > m - 1) r0 = m - 1;
  if (r1 > m - 1) r1 = m - 1;
  if (c0 > n - 1) c0 = n - 1;
  if (c1 > n - 1) c1 = n - 1;
  const float* pa0 = a + r0 * lda + k_first + kq * 4;
  const float* pa1 = a + r1 * lda + k_first + kq * 4;
  const float* pb0 = b + c0 * ldb + k_first + kq * 4;
  const float* pb1 = b + c1 * ldb + k_first + kq * 4;

  float4 a0 = *reinterpret_cast<const float4*>(pa0);
  float4 a1 = *reinterpret_cast<const float4*>(pa1);
  float4 b0 = *reinterpret_cast<const float4*>(pb0);
  float4 b1 = *reinterpret_cast<const float4*>(pb1);
  {
    float* s = &as[0][st];
    s[0] = a0.x; s[128] = a0.y; s[256] = a0.z; s[384] = a0.w;
    s[64] = a1.x; s[192] = a1.y; s[320] = a1.z; s[448] = a1.w;
    float* u = &bs[0][st];
    u[0] = b0.x; u[128] = b0.y; u[256] = b0.z; u[384] = b0.w;
    u[64] = b1.x; u[192] = b1.y; u[320] = b1.z; u[448] = b1.w;
  }
  __syncthreads();

  for (int t = 0; t < tiles; ++t) {
    const bool more = t + 1 < tiles;
    if (more) {
      pa0 += 16; pa1 += 16; pb0 += 16; pb1 += 16;
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
      const int col = bn ^ ((kk >> 2) * 8);
      const float4 x0 = *reinterpret_cast<const float4*>(sa + kk * 128 + base + o);
      const float4 x1 = *reinterpret_cast<const float4*>(sa + kk * 128 + base + (16 - o));
      const float4 y0 = *reinterpret_cast<const float4*>(sb + kk * 128 + col);
      const float4 y1 = *reinterpret_cast<const float4*>(sb + kk * 128 + col + 32);
      const float xv[8] = {x0.x, x0.y, x0.z, x0.w, x1.x, x1.y, x1.z, x1.w};
      const float yv[8] = {y0.x, y0.y, y0.z, y0.w, y1.x, y1.y, y1.z, y1.w};
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(xv[i], yv[j], acc[i][j]);
    }
    if (more) {
      float* s = &as[(t + 1) & 1][st];
      s[0] = a0.x; s[128] = a0.y; s[256] = a0.z; s[384] = a0.w;
      s[64] = a1.x; s[192] = a1.y; s[320] = a1.z; s[448] = a1.w;
      float* u = &bs[(t + 1) & 1][st];
      u[0] = b0.x; u[128] = b0.y; u[256] = b0.z; u[384] = b0.w;
      u[64] = b1.x; u[192] = b1.y; u[320] = b1.z; u[448] = b1.w;
      __syncthreads();
    }
  }
}

// The place of a thread's results in the 128x128 tile.
__device__ __forceinline__ int tile_row(int i) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  return (warp >> 1) * 32 + ((lane & 1) | ((lane >> 4) << 1)) * 4 + (i & 3) + (i >> 2) * 16;
}
__device__ __forceinline__ int tile_col() {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  return (warp & 1) * 64 + ((lane >> 1) & 7) * 4;
}

// out = act(a @ b^T + bias), n a multiple of 4.
template <int ACT>
__device__ __forceinline__ void linear_fast(const float* __restrict__ a, const float* __restrict__ b,
                                            const float* __restrict__ bias, float* __restrict__ out,
                                            long long m, long long n, long long k, long long lda,
                                            long long ldb, long long bias_stride) {
  const long long row0 = blockIdx.x * 128LL, col0 = blockIdx.y * 128LL;
  float acc[8][8] = {};
  gemm_nt(a, b, m, n, lda, ldb, row0, col0, 0, static_cast<int>(k / 16), acc);
  const long long c = col0 + tile_col();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const long long ch = c + half * 32;
    if (ch < n) {
      float add[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) add[j] = bias[(ch + j) * bias_stride];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const long long row = row0 + tile_row(i);
        if (row < m)
          *reinterpret_cast<float4*>(out + row * n + ch) =
              make_float4(activate<ACT>(acc[i][half * 4 + 0] + add[0]),
                          activate<ACT>(acc[i][half * 4 + 1] + add[1]),
                          activate<ACT>(acc[i][half * 4 + 2] + add[2]),
                          activate<ACT>(acc[i][half * 4 + 3] + add[3]));
      }
    }
  }
}

// Any strides and sizes: a block of 16x16 threads takes 64x64 results.
template <int ACT>
__device__ __forceinline__ void linear_any(const float* __restrict__ a, const float* __restrict__ b,
                                           const float* __restrict__ bias, float* __restrict__ out,
                                           long long m, long long n, long long k, long long a_row,
                                           long long a_col, long long b_row, long long b_col,
                                           long long bias_stride) {
  __shared__ float as[16][64 + 2];
  __shared__ float bs[16][64 + 2];
  const int tid = threadIdx.y * 16 + threadIdx.x;
  const long long row0 = blockIdx.y * 64LL, col0 = blockIdx.x * 64LL;
  float sum[4][4] = {};
  for (long long k0 = 0; k0 < k; k0 += 16) {
    for (int i = tid; i < 64 * 16; i += 256) {
      const int r = i / 16, c = i % 16;
      as[c][r] = row0 + r < m && k0 + c < k ? a[(row0 + r) * a_row + (k0 + c) * a_col] : 0.0f;
      bs[c][r] = col0 + r < n && k0 + c < k ? b[(col0 + r) * b_row + (k0 + c) * b_col] : 0.0f;
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
      if (r < m && c < n) out[r * n + c] = activate<ACT>(sum[i][j] + bias[c * bias_stride]);
    }
}

extern "C" __global__ void __launch_bounds__(256, MINB)
first_fast(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
          float* __restrict__ out, long long m, long long n, long long k, long long lda,
          long long ldb, long long bias_stride) {
  linear_fast<1>(a, b, bias, out, m, n, k, lda, ldb, bias_stride);
}

extern "C" __global__ void __launch_bounds__(256)
first_any(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
         float* __restrict__ out, long long m, long long n, long long k, long long a_row,
         long long a_col, long long b_row, long long b_col, long long bias_stride) {
  linear_any<1>(a, b, bias, out, m, n, k, a_row, a_col, b_row, b_col, bias_stride);
}

extern "C" __global__ void __launch_bounds__(256, MINB)
second_fast(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
          float* __restrict__ out, long long m, long long n, long long k, long long lda,
          long long ldb, long long bias_stride) {
  linear_fast<0>(a, b, bias, out, m, n, k, lda, ldb, bias_stride);
}

extern "C" __global__ void __launch_bounds__(256)
second_any(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
         float* __restrict__ out, long long m, long long n, long long k, long long a_row,
         long long a_col, long long b_row, long long b_col, long long bias_stride) {
  linear_any<0>(a, b, bias, out, m, n, k, a_row, a_col, b_row, b_col, bias_stride);
}

// A warp per row. An infinite maximum is not subtracted; an empty row gives -inf.
extern "C" __global__ void __launch_bounds__(256)
row_logsumexp(const float* __restrict__ v, T_out* __restrict__ out, long long m, long long n) {
  const long long row = blockIdx.x * 8LL + (threadIdx.x >> 5);
  if (row >= m) return;                          // a whole warp
  const int lane = threadIdx.x & 31;
  const float* p = v + row * n;
  float top = -INFINITY;
#pragma unroll 8
  for (long long i = lane; i < n; i += 32) top = fmaxf(top, p[i]);
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
  if (fabsf(top) == INFINITY) top = 0.0f;
  float sum = 0.0f;
#pragma unroll 8
  for (long long i = lane; i < n; i += 32) sum += expf(p[i] - top);
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (lane == 0) out[row] = kg::from_float<T_out>(logf(sum) + top);
}
