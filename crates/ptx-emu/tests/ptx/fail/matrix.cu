#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
#define LDMATRIX(R, AT) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" \
  : "=r"(R[0]), "=r"(R[1]), "=r"(R[2]), "=r"(R[3]) : "r"((unsigned)__cvta_generic_to_shared(AT)))
// The array has 24 rows of 8 halves, but 32 rows are read.
extern "C" __global__ void rows_past(unsigned* out) {
  __shared__ __align__(16) half s[24 * 8];
  for (int i = threadIdx.x; i < 24 * 8; i += 32) s[i] = __float2half(1.f);
  __syncthreads();
  unsigned r[4];
  LDMATRIX(r, s + 8 * threadIdx.x);
  out[threadIdx.x] = r[0] + r[1] + r[2] + r[3];
}
// The last row is not written.
extern "C" __global__ void rows_unwritten(unsigned* out) {
  __shared__ __align__(16) half s[32 * 8];
  for (int i = threadIdx.x; i < 31 * 8; i += 32) s[i] = __float2half(1.f);
  __syncthreads();
  unsigned r[4];
  LDMATRIX(r, s + 8 * threadIdx.x);
  out[threadIdx.x] = r[0] + r[1] + r[2] + r[3];
}
// A pitch of 9 halves: rows do not start at multiples of 16 bytes.
extern "C" __global__ void rows_misaligned(unsigned* out) {
  __shared__ __align__(16) half s[32 * 9];
  for (int i = threadIdx.x; i < 32 * 9; i += 32) s[i] = __float2half(1.f);
  __syncthreads();
  unsigned r[4];
  LDMATRIX(r, s + 9 * threadIdx.x);
  out[threadIdx.x] = r[0] + r[1] + r[2] + r[3];
}
// Two warps: the second fills rows that the first reads, without a barrier.
extern "C" __global__ void rows_raced(unsigned* out) {
  __shared__ __align__(16) half s[32 * 8];
  for (int i = 4 * threadIdx.x; i < 4 * threadIdx.x + 4; ++i) s[i] = __float2half(1.f);
  unsigned r[4] = {};
  if (threadIdx.x < 32) LDMATRIX(r, s + 8 * threadIdx.x);
  out[threadIdx.x] = r[0] + r[1] + r[2] + r[3];
}
using FA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using FB = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major>;
using FC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;
extern "C" __global__ void product(const half* a, const half* b, float* c, int lda, int ldc) {
  FA fa; FB fb; FC fc;
  wmma::fill_fragment(fc, 0.f);
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, ldc, wmma::mem_row_major);
}
// The accumulator starts with whatever the registers hold.
extern "C" __global__ void unfilled(const half* a, const half* b, float* c) {
  FA fa; FB fb; FC fc;
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
