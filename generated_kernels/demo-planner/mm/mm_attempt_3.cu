/*@plan
m = self.shape[0]
k = self.shape[1]
n = mat2.shape[1]
if self.itemsize == 2:
    straight = self.stride[1] == 1 and mat2.stride[1] == 1 and self.stride[0] % 8 == 0 and mat2.stride[0] % 8 == 0
    define("FAST", 1 if straight and self.align >= 16 and mat2.align >= 16 and k % 8 == 0 and n % 8 == 0 else 0)
    define("HALF", 1)
    launch("mm_half", grid=(cdiv(n, 128), cdiv(m, 128)), block=256, args=[self, mat2, out, m, n, k, self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
elif self.stride[1] == 1 and mat2.stride[1] == 1 and self.stride[0] % 4 == 0 and mat2.stride[0] % 4 == 0 and self.align >= 16 and mat2.align >= 16 and k % 8 == 0 and n % 4 == 0 and m * n >= 65536:
    define("FAST", 1)
    define("HALF", 0)
    launch("mm_wide", grid=(cdiv(n, 128), cdiv(m, 128)), block=256, args=[self, mat2, out, m, n, k, self.stride[0], mat2.stride[0]])
else:
    define("FAST", 0)
    define("HALF", 0)
    launch("mm", grid=(cdiv(n, 64), cdiv(m, 64)), block=256, args=[self, mat2, out, m, n, k, self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
@*/
#if HALF
#include <mma.h>
using namespace nvcuda;

constexpr int SIDE = 128;
constexpr int STEP = 32;

extern "C" __global__ void __launch_bounds__(256)
mm_half(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c, long long m, long long n,
        long long k, long long as0, long long as1, long long bs0, long long bs1) {
  __shared__ alignas(16) T_self ta[SIDE][STEP + 8];
  __shared__ alignas(16) T_self tb[STEP][SIDE + 8];
  __shared__ alignas(16) float tc[8][16][20];
  const long long row0 = blockIdx.y * (long long)SIDE;
  const long long col0 = blockIdx.x * (long long)SIDE;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int wr = warp / 4 * 64, wc = warp % 4 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4][2];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) wmma::fill_fragment(acc[i][j], 0.0f);
  for (long long k0 = 0; k0 < k; k0 += STEP) {
#if FAST
#pragma unroll
    for (int e = threadIdx.x; e < SIDE * STEP / 8; e += 256) {
      const int i = e / 4, l = e % 4 * 8;
      const int q = e / 16, j = e % 16 * 8;
      uint4 va = make_uint4(0, 0, 0, 0), vb = make_uint4(0, 0, 0, 0);
      if (row0 + i < m && k0 + l < k) va = *reinterpret_cast<const uint4*>(a + (row0 + i) * as0 + k0 + l);
      if (k0 + q < k && col0 + j < n) vb = *reinterpret_cast<const uint4*>(b + (k0 + q) * bs0 + col0 + j);
      *reinterpret_cast<uint4*>(&ta[i][l]) = va;
      *reinterpret_cast<uint4*>(&tb[q][j]) = vb;
    }
#else
    for (int e = threadIdx.x; e < SIDE * STEP; e += 256) {
      const int i = e / STEP, l = e % STEP;
      const int q = e / SIDE, j = e % SIDE;
      const bool ina = row0 + i < m && k0 + l < k, inb = k0 + q < k && col0 + j < n;
      ta[i][l] = ina ? a[(row0 + i) * as0 + (k0 + l) * as1] : kg::from_float<T_self>(0.0f);
      tb[q][j] = inb ? b[(k0 + q) * bs0 + (col0 + j) * bs1] : kg::from_float<T_self>(0.0f);
    }
#endif
    __syncthreads();
#pragma unroll
    for (int l = 0; l < STEP; l += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T_self, wmma::row_major> fa[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T_self, wmma::row_major> fb[2];
#pragma unroll
      for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(fa[i], &ta[wr + i * 16][l], STEP + 8);
#pragma unroll
      for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(fb[j], &tb[l][wc + j * 16], SIDE + 8);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(&tc[warp][0][0], acc[i][j], 20, wmma::mem_row_major);
      __syncwarp();
#pragma unroll
      for (int e = lane; e < 256; e += 32) {
        const long long row = row0 + wr + i * 16 + e / 16, col = col0 + wc + j * 16 + e % 16;
        if (row < m && col < n) c[row * n + col] = kg::from_float<T_out>(tc[warp][e / 16][e % 16]);
      }
      __syncwarp();
    }
}
#elif FAST
constexpr int SIDE = 128;
constexpr int STEP = 8;

// 8x8 results per thread as four 4x4 quarters, 64 apart, so that float4 reads of a quarter-warp do not conflict.
extern "C" __global__ void __launch_bounds__(256)
mm_wide(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c, long long m, long long n,
        long long k, long long as0, long long bs0) {
  __shared__ alignas(16) float ta[2][STEP][SIDE + 4];
  __shared__ alignas(16) float tb[2][STEP][SIDE];
  const long long row0 = blockIdx.y * (long long)SIDE, col0 = blockIdx.x * (long long)SIDE;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int ai = threadIdx.x / 2, al = threadIdx.x % 2 * 4;
  const int bq = threadIdx.x / 32, bj = threadIdx.x % 32 * 4;
  const bool ina = row0 + ai < m, inb = col0 + bj < n;
  const float* pa = a + (row0 + ai) * as0 + al;
  const float* pb = b + bq * bs0 + col0 + bj;
  const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const int steps = static_cast<int>(k / STEP);
  float4 va = none, vb = none;
  if (ina) va = *reinterpret_cast<const float4*>(pa);
  if (inb) vb = *reinterpret_cast<const float4*>(pb);
  float acc[8][8] = {};
  for (int s = 0; s < steps; ++s) {
    const int at = s % 2;
    ta[at][al][ai] = va.x;
    ta[at][al + 1][ai] = va.y;
    ta[at][al + 2][ai] = va.z;
    ta[at][al + 3][ai] = va.w;
    *reinterpret_cast<float4*>(&tb[at][bq][bj]) = vb;
    __syncthreads();
    if (s + 1 < steps) {
      pa += STEP;
      pb += STEP * bs0;
      va = ina ? *reinterpret_cast<const float4*>(pa) : none;
      vb = inb ? *reinterpret_cast<const float4*>(pb) : none;
    }
#pragma unroll
    for (int l = 0; l < STEP; ++l) {
      float fa[8], fb[8];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float4 qa = *reinterpret_cast<const float4*>(&ta[at][l][h * 64 + ty * 4]);
        const float4 qb = *reinterpret_cast<const float4*>(&tb[at][l][h * 64 + tx * 4]);
        fa[h * 4] = qa.x; fa[h * 4 + 1] = qa.y; fa[h * 4 + 2] = qa.z; fa[h * 4 + 3] = qa.w;
        fb[h * 4] = qb.x; fb[h * 4 + 1] = qb.y; fb[h * 4 + 2] = qb.z; fb[h * 4 + 3] = qb.w;
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const long long row = row0 + i / 4 * 64 + ty * 4 + i % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const long long col = col0 + h * 64 + tx * 4;
      if (row < m && col < n)
        *reinterpret_cast<float4*>(c + row * n + col) =
            make_float4(acc[i][h * 4], acc[i][h * 4 + 1], acc[i][h * 4 + 2], acc[i][h * 4 + 3]);
    }
  }
}
#else
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
#endif
