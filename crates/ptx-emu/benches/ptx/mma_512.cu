#include <cuda_fp16.h>
#include <cuda_pipeline.h>
// C[m, n] = A[m, k] B[k, n], row-major; m and n multiples of 64, k of 32. Four warps of 32x32 make a tile
// of 64x64; tiles of A and B go through shared memory, two stages deep.
// launch: grid (n / 64, m / 64), block 128
__device__ void load(half (*sa)[40], half (*sb)[72], const half* a, const half* b, int n, int k) {
  for (int i = threadIdx.x; i < 256; i += 128) {
    __pipeline_memcpy_async(&sa[i / 4][8 * (i % 4)], a + (i / 4) * k + 8 * (i % 4), 16);
    __pipeline_memcpy_async(&sb[i / 8][8 * (i % 8)], b + (i / 8) * n + 8 * (i % 8), 16);
  }
  __pipeline_commit();
}
extern "C" __global__ void mma_f16(const half* a, const half* b, float* c, int n, int k) {
  __shared__ __align__(16) half sa[2][64][40], sb[2][32][72];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = 32 * (warp / 2), column = 32 * (warp % 2);
  a += (size_t)blockIdx.y * 64 * k;
  b += blockIdx.x * 64;
  float d[2][4][4] = {};
  load(sa[0], sb[0], a, b, n, k);
  for (int p = 0; p < k; p += 32) {
    int stage = p / 32 % 2;
    if (p + 32 < k) {
      load(sa[1 - stage], sb[1 - stage], a + p + 32, b + (size_t)(p + 32) * n, n, k);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 32; q += 16) {
      unsigned ra[2][4], rb[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        unsigned at = (unsigned)__cvta_generic_to_shared(&sa[stage][row + 16 * i + lane % 16][q + 8 * (lane / 16)]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
          : "=r"(ra[i][0]), "=r"(ra[i][1]), "=r"(ra[i][2]), "=r"(ra[i][3]) : "r"(at));
      }
#pragma unroll
      for (int j = 0; j < 4; j += 2) {
        unsigned at = (unsigned)__cvta_generic_to_shared(&sb[stage][q + lane % 16][column + 8 * j + 8 * (lane / 16)]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
          : "=r"(rb[j][0]), "=r"(rb[j][1]), "=r"(rb[j + 1][0]), "=r"(rb[j + 1][1]) : "r"(at));
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[i][j][0]), "+f"(d[i][j][1]), "+f"(d[i][j][2]), "+f"(d[i][j][3])
            : "r"(ra[i][0]), "r"(ra[i][1]), "r"(ra[i][2]), "r"(ra[i][3]), "r"(rb[j][0]), "r"(rb[j][1]));
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        size_t at = (size_t)(blockIdx.y * 64 + row + 16 * i + 8 * h + lane / 4) * n + blockIdx.x * 64 + column + 8 * j + 2 * (lane % 4);
        *(float2*)(c + at) = make_float2(d[i][j][2 * h], d[i][j][2 * h + 1]);
      }
}
