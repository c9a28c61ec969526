/*@plan
minb = param("MINB", [2, 1])
weights = (network_0_weight, network_2_weight, network_4_weight)
biases = (network_0_bias, network_2_bias, network_4_bias)
m = x.shape[0]
src = x
s0, s1 = x.stride[0], x.stride[1]
aligned = x.align >= 16
for i in range(3):
    w = weights[i]
    bias = biases[i]
    n, k = w.shape[0], w.shape[1]
    relu = 1 if i < 2 else 0
    dst = out
    if i < 2:
        dst = ptr(scratch(max(m * n * 4, 16)), 0)
    fa = s1 == 1 and s0 % 4 == 0 and aligned
    fw = w.stride[1] == 1 and w.stride[0] % 4 == 0 and w.align >= 16
    if fa and fw and m >= 16 and n >= 64 and n % 4 == 0 and k >= 16 and k % 16 == 0:
        tiles = cdiv(m, 128) * cdiv(n, 128)
        kt = k // 16
        splits = max(1, min(2 * sm_count // tiles, kt // 8, 32))
        chunk = cdiv(kt, splits)
        splits = cdiv(kt, chunk)
        parts = ptr(scratch(splits * m * n * 4), 0)
        launch("gemm_split", grid=(cdiv(m, 128), cdiv(n, 128), splits), block=256,
               args=[src, w, parts, m, n, kt, chunk, s0, w.stride[0]])
        launch("add_parts", grid=cdiv(m * n // 4, 256), block=256,
               args=[parts, bias, dst, m * n, n, splits, bias.stride[0], relu])
    elif i < 2:
        launch("linear_relu_any", grid=(cdiv(n, 64), cdiv(m, 64)), block=(16, 16),
               args=[src, w, bias, dst, m, n, k, s0, s1, w.stride[0], w.stride[1], bias.stride[0]])
    else:
        launch("linear_any_last", grid=(cdiv(n, 64), cdiv(m, 64)), block=(16, 16),
               args=[src, w, bias, dst, m, n, k, s0, s1, w.stride[0], w.stride[1], bias.stride[0]])
    src = dst
    s0 = n
    s1 = 1
    aligned = out.align >= 16                 # scratch is aligned like an output
@*/

template <int ACT>
__device__ __forceinline__ float activate(float v) {
  return ACT != 0 && v < 0.0f ? 0.0f : v;         // NaN stays NaN
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

// Partial products of the blockIdx.z-th part of k; n a multiple of 4.
extern "C" __global__ void __launch_bounds__(256, MINB)
gemm_split(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ parts,
           long long m, long long n, long long k_tiles, long long chunk, long long lda,
           long long ldb) {
  const long long row0 = blockIdx.x * 128LL, col0 = blockIdx.y * 128LL;
  const long long first = blockIdx.z * chunk;
  const long long left = k_tiles - first;
  float acc[8][8] = {};
  gemm_nt(a, b, m, n, lda, ldb, row0, col0, first * 16,
          static_cast<int>(left < chunk ? left : chunk), acc);
  float* out = parts + blockIdx.z * (m * n);
  const long long c = col0 + tile_col();
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const long long row = row0 + tile_row(i);
    if (row < m) {
      float* to = out + row * n + c;
      if (c < n)
        *reinterpret_cast<float4*>(to) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
      if (c + 32 < n)
        *reinterpret_cast<float4*>(to + 32) = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
    }
  }
}

// Sum of the parts in a fixed order, bias, ReLU; four results per thread.
extern "C" __global__ void __launch_bounds__(256)
add_parts(const float* __restrict__ parts, const float* __restrict__ bias, float* __restrict__ out,
          long long count, long long n, long long splits, long long bias_stride, int relu) {
  const long long i = (blockIdx.x * 256LL + threadIdx.x) * 4;
  if (i >= count) return;
  float4 s = *reinterpret_cast<const float4*>(parts + i);
  for (long long p = 1; p < splits; ++p) {
    const float4 q = *reinterpret_cast<const float4*>(parts + p * count + i);
    s.x += q.x;
    s.y += q.y;
    s.z += q.z;
    s.w += q.w;
  }
  const float* add = bias + (i % n) * bias_stride;
  s.x += add[0];
  s.y += add[bias_stride];
  s.z += add[2 * bias_stride];
  s.w += add[3 * bias_stride];
  if (relu != 0) {
    s.x = activate<1>(s.x);
    s.y = activate<1>(s.y);
    s.z = activate<1>(s.z);
    s.w = activate<1>(s.w);
  }
  *reinterpret_cast<float4*>(out + i) = s;
}

extern "C" __global__ void __launch_bounds__(256)
linear_relu_any(const float* __restrict__ a, const float* __restrict__ b,
                const float* __restrict__ bias, float* __restrict__ out, long long m, long long n,
                long long k, long long a_row, long long a_col, long long b_row, long long b_col,
                long long bias_stride) {
  linear_any<1>(a, b, bias, out, m, n, k, a_row, a_col, b_row, b_col, bias_stride);
}

extern "C" __global__ void __launch_bounds__(256)
linear_any_last(const float* __restrict__ a, const float* __restrict__ b,
                const float* __restrict__ bias, float* __restrict__ out, long long m, long long n,
                long long k, long long a_row, long long a_col, long long b_row, long long b_col,
                long long bias_stride) {
  linear_any<0>(a, b, bias, out, m, n, k, a_row, a_col, b_row, b_col, bias_stride);
}
