/*@plan
xc = contiguous(x)
w = contiguous(linear_weight)
lb = contiguous(linear_bias)
m, k = xc.shape[0], xc.shape[1]
n = w.shape[0]
vec = define("VEC", 4 if k % 4 == 0 and min(xc.align, w.align) >= 16 else 1)
launch("gemm_gelu", grid=(cdiv(m, 128), cdiv(n, 128)), block=256, smem=61440, args=[xc, w, lb, out, m, n, k])
launch("softmax_rows", grid=m if n > 0 else 0, block=256, args=[out, n])
@*/
constexpr int kStages = 3;
constexpr int kLd = 20;                         // a row of 16 k values, padded by 16 bytes
constexpr int kTile = 128 * kLd;

__device__ __forceinline__ void cp16(float* s, const float* g) {
  const unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(a), "l"(g) : "memory");
}
__device__ __forceinline__ void cp4(float* s, const float* g) {
  const unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(a), "l"(g) : "memory");
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int N>
__device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory"); }

// 128 rows by 16 columns of a row-major matrix, zeros outside
__device__ __forceinline__ void load_tile(float* to, const float* __restrict__ from, int ld, int rows_left,
                                          int k_left) {
  const int tid = threadIdx.x;
#if VEC == 4
  const int r = tid >> 2, q = (tid & 3) * 4;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int row = r + u * 64;
    float* d = to + row * kLd + q;
    if (row < rows_left && q < k_left) cp16(d, from + static_cast<long long>(row) * ld + q);
    else *reinterpret_cast<float4*>(d) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
#else
  const int r = tid >> 4, q = tid & 15;
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const int row = r + u * 16;
    float* d = to + row * kLd + q;
    if (row < rows_left && q < k_left) cp4(d, from + static_cast<long long>(row) * ld + q);
    else *d = 0.0f;
  }
#endif
}

// Rows and columns of the 128x128 tile that a thread holds: row_of + 4 i and col_of + 8 j
__device__ __forceinline__ int lane_row() { return (threadIdx.x & 1) | (((threadIdx.x >> 4) & 1) << 1); }
__device__ __forceinline__ int lane_col() { return (threadIdx.x >> 1) & 7; }
__device__ __forceinline__ int row_of() { return static_cast<int>(threadIdx.x >> 6) * 32 + lane_row(); }
__device__ __forceinline__ int col_of() { return static_cast<int>((threadIdx.x >> 5) & 1) * 64 + lane_col(); }

// acc = A[128, k] * B[128, k]^T in f32 FMA; both row-major with row stride k
__device__ __forceinline__ void gemm_tile(const float* __restrict__ a, const float* __restrict__ b, int rows_a,
                                          int rows_b, int k, float* sm, float (&acc)[8][8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;
  const int a_off = row_of() * kLd;
  const int b_off = kTile + col_of() * kLd;
  const int nk = (k + 15) / 16;
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < nk) {
      load_tile(sm + s * 2 * kTile, a + s * 16, k, rows_a, k - s * 16);
      load_tile(sm + s * 2 * kTile + kTile, b + s * 16, k, rows_b, k - s * 16);
    }
    cp_commit();
  }
  int rd = 0, wr = kStages - 1;
#pragma unroll 1
  for (int t = 0; t < nk; ++t) {
    cp_wait<kStages - 2>();
    __syncthreads();                            // tile t is here, tile t - 1 is used up
    const int ahead = (t + kStages - 1) * 16;
    if (ahead < k) {
      float* to = sm + wr * 2 * kTile;
      load_tile(to, a + ahead, k, rows_a, k - ahead);
      load_tile(to + kTile, b + ahead, k, rows_b, k - ahead);
    }
    cp_commit();
    const float* as = sm + rd * 2 * kTile + a_off;
    const float* bs = sm + rd * 2 * kTile + b_off;
#pragma unroll
    for (int kk = 0; kk < 16; kk += 4) {
      float4 av[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) av[i] = *reinterpret_cast<const float4*>(as + i * 4 * kLd + kk);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float4 bv = *reinterpret_cast<const float4*>(bs + j * 8 * kLd + kk);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(av[i].x, bv.x, acc[i][j]);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(av[i].y, bv.y, acc[i][j]);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(av[i].z, bv.z, acc[i][j]);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(av[i].w, bv.w, acc[i][j]);
      }
    }
    rd = rd + 1 == kStages ? 0 : rd + 1;
    wr = wr + 1 == kStages ? 0 : wr + 1;
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
gemm_gelu(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ lb,
          float* __restrict__ out, long long m, long long n, long long k) {
  extern __shared__ __align__(16) float sm[];
  const long long row0 = blockIdx.x * 128LL, col0 = blockIdx.y * 128LL;
  const int rows = static_cast<int>(m - row0 < 128 ? m - row0 : 128);
  const int cols = static_cast<int>(n - col0 < 128 ? n - col0 : 128);
  float acc[8][8];
  gemm_tile(x + row0 * k, w + col0 * k, rows, cols, static_cast<int>(k), sm, acc);
  const int r0 = row_of(), c0 = col_of();
  float b[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) b[j] = c0 + 8 * j < cols ? lb[col0 + c0 + 8 * j] : 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int r = r0 + 4 * i;
    if (r < rows) {
      float* to = out + (row0 + r) * n + col0;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        if (c0 + 8 * j < cols) {
          const float v = acc[i][j] + b[j];
          to[c0 + 8 * j] = 0.5f * v * erfcf(v * -0.70710678118654752f);   // no cancellation for v < 0
        }
      }
    }
  }
}

// In place; every thread reads and writes its own elements only
extern "C" __global__ void __launch_bounds__(256)
softmax_rows(float* out, long long cols) {
  __shared__ float part_max[8];
  __shared__ float part_sum[8];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float* v = out + blockIdx.x * cols;
  const bool wide = cols % 4 == 0;              // out is aligned, so then every row is
  const long long packs = wide ? cols / 4 : 0;
  float4* v4 = reinterpret_cast<float4*>(v);
  const long long tail = packs * 4 + threadIdx.x;
  float m = -INFINITY;
#pragma unroll 4
  for (long long i = threadIdx.x; i < packs; i += 256) {
    const float4 p = v4[i];
    m = fmaxf(m, fmaxf(fmaxf(p.x, p.y), fmaxf(p.z, p.w)));
  }
  for (long long i = tail; i < cols; i += 256) m = fmaxf(m, v[i]);
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  if (lane == 0) part_max[warp] = m;
  __syncthreads();
  m = part_max[0];
#pragma unroll
  for (int g = 1; g < 8; ++g) m = fmaxf(m, part_max[g]);
  float s = 0.0f;
#pragma unroll 4
  for (long long i = threadIdx.x; i < packs; i += 256) {
    const float4 p = v4[i];
    s += (expf(p.x - m) + expf(p.y - m)) + (expf(p.z - m) + expf(p.w - m));
  }
  for (long long i = tail; i < cols; i += 256) s += expf(v[i] - m);
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
  if (lane == 0) part_sum[warp] = s;
  __syncthreads();
  s = 0.0f;
#pragma unroll
  for (int g = 0; g < 8; ++g) s += part_sum[g];
  for (long long i = threadIdx.x; i < packs; i += 256) {
    float4 p = v4[i];
    p.x = expf(p.x - m) / s;
    p.y = expf(p.y - m) / s;
    p.z = expf(p.z - m) / s;
    p.w = expf(p.w - m) / s;
    v4[i] = p;
  }
  for (long long i = tail; i < cols; i += 256) v[i] = expf(v[i] - m) / s;
}
