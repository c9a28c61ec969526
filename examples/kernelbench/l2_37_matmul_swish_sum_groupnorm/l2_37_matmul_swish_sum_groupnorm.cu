/*@plan
xc = contiguous(x)
w = contiguous(matmul_weight)
mb = contiguous(matmul_bias)
ab = contiguous(bias)
gw = contiguous(group_norm_weight)
gb = contiguous(group_norm_bias)
m, k = xc.shape[0], xc.shape[1]
n = w.shape[0]
cpg = n // max(num_groups, 1)
vec = define("VEC", 4 if k % 4 == 0 and min(xc.align, w.align) >= 16 else 1)
fuse = define("FUSE", 1 if cpg == 64 and n % 64 == 0 else 0)
launch("gemm_swish", grid=(cdiv(n, 128), cdiv(m, 128)), block=256, smem=61440, args=[xc, w, mb, ab, gw, gb, out, m, n, k])
if fuse == 0:
    items = m * num_groups
    launch("group_norm", grid=min(cdiv(items, 8), 64 * sm_count), block=256, args=[out, gw, gb, items, num_groups, cpg])
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
gemm_swish(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ mb,
           const float* __restrict__ ab, const float* __restrict__ gw, const float* __restrict__ gb,
           float* __restrict__ out, long long m, long long n, long long k) {
  extern __shared__ __align__(16) float sm[];
  const long long row0 = blockIdx.y * 128LL, col0 = blockIdx.x * 128LL;
  const int rows = static_cast<int>(m - row0 < 128 ? m - row0 : 128);
  const int cols = static_cast<int>(n - col0 < 128 ? n - col0 : 128);
  float acc[8][8];
  gemm_tile(x + row0 * k, w + col0 * k, rows, cols, static_cast<int>(k), sm, acc);
  const int r0 = row_of(), c0 = col_of();
  float lin_bias[8], add_bias[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int c = c0 + 8 * j;
    lin_bias[j] = c < cols ? mb[col0 + c] : 0.0f;
    add_bias[j] = c < cols ? ab[col0 + c] : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float lin = acc[i][j] + lin_bias[j];
      acc[i][j] = lin / (1.0f + expf(-lin)) + add_bias[j];
    }
#if FUSE
  float scale[8], shift[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int c = c0 + 8 * j;
    scale[j] = c < cols ? gw[col0 + c] : 0.0f;
    shift[j] = c < cols ? gb[col0 + c] : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {                 // a warp's 64 columns of a row are one group
    float s = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j) s += acc[i][j];
    s += __shfl_xor_sync(0xffffffffu, s, 2);
    s += __shfl_xor_sync(0xffffffffu, s, 4);
    s += __shfl_xor_sync(0xffffffffu, s, 8);
    const float mean = s * (1.0f / 64.0f);
    float q = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      acc[i][j] -= mean;
      q = fmaf(acc[i][j], acc[i][j], q);
    }
    q += __shfl_xor_sync(0xffffffffu, q, 2);
    q += __shfl_xor_sync(0xffffffffu, q, 4);
    q += __shfl_xor_sync(0xffffffffu, q, 8);
    const float rstd = 1.0f / sqrtf(q * (1.0f / 64.0f) + 1e-5f);
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(acc[i][j] * rstd, scale[j], shift[j]);
  }
#endif
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int r = r0 + 4 * i;
    if (r < rows) {
      float* to = out + (row0 + r) * n + col0;
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (c0 + 8 * j < cols) to[c0 + 8 * j] = acc[i][j];
    }
  }
}

// In place, a warp per row and group; every lane reads and writes its own elements only
extern "C" __global__ void __launch_bounds__(256)
group_norm(float* out, const float* __restrict__ gw, const float* __restrict__ gb, long long items,
           long long groups, long long cpg) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (long long item = blockIdx.x * 8LL + warp; item < items; item += gridDim.x * 8LL) {
    float* v = out + item * cpg;
    const long long channel0 = (item % groups) * cpg;
    float s = 0.0f;
    for (long long i = lane; i < cpg; i += 32) s += v[i];
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    const float mean = s / static_cast<float>(cpg);
    float q = 0.0f;
    for (long long i = lane; i < cpg; i += 32) {
      const float d = v[i] - mean;
      q = fmaf(d, d, q);
    }
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) q += __shfl_xor_sync(0xffffffffu, q, d);
    const float rstd = 1.0f / sqrtf(q / static_cast<float>(cpg) + 1e-5f);
    for (long long i = lane; i < cpg; i += 32)
      v[i] = fmaf((v[i] - mean) * rstd, gw[channel0 + i], gb[channel0 + i]);
  }
}
