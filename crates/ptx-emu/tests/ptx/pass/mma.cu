#include <mma.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
using namespace nvcuda;
template <class T, class L> __device__ void tensor(const T* a, const T* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, L> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.f);
  __shared__ T sa[256];
  for (int i = threadIdx.x; i < 256; i += 32) sa[i] = a[i];
  __syncwarp();
  wmma::load_matrix_sync(fa, sa, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2.f;
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
extern "C" __global__ void wmma_f16(const half* a, const half* b, float* c) { tensor<half, wmma::col_major>(a, b, c); }
extern "C" __global__ void wmma_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) { tensor<__nv_bfloat16, wmma::row_major>(a, b, c); }
extern "C" __global__ void wmma_half_out(const half* a, const half* b, half* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> fc;
  wmma::fill_fragment(fc, __float2half(0.f));
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
extern "C" __global__ void wmma_tf32(const float* a, const float* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::fill_fragment(fc, 0.f);
  for (int k = 0; k < 16; k += 8) {
    wmma::load_matrix_sync(fa, a + k, 16);
    wmma::load_matrix_sync(fb, b + k * 16, 16);
    for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
    for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
// D[16x8] = A[16x16] B[16x8]: ldmatrix feeds mma.sync; b is [16][8] row-major.
extern "C" __global__ void mma_ldmatrix(const half* a, const half* b, float* c) {
  __shared__ __align__(16) half sa[16][16], sb[16][8];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&sa[t / 2][8 * (t % 2)], a + 8 * t, 16);
  if (t < 16) __pipeline_memcpy_async(&sb[t][0], b + 8 * t, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  unsigned ra[4], rb[2];
  unsigned pa = (unsigned)__cvta_generic_to_shared(&sa[t % 16][8 * (t / 16)]);
  unsigned pb = (unsigned)__cvta_generic_to_shared(&sb[t % 16][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  int g = t / 4, q = t % 4;
  c[g * 8 + q * 2] = d[0]; c[g * 8 + q * 2 + 1] = d[1];
  c[(g + 8) * 8 + q * 2] = d[2]; c[(g + 8) * 8 + q * 2 + 1] = d[3];
}
// s8: D[16x8] = A[16x32] B[32x8], A row-major, B given as [8][32].
extern "C" __global__ void mma_s8(const int* a, const int* b, int* c) {
  int t = threadIdx.x, g = t / 4, q = t % 4, d[4] = {1, 2, 3, 4};
  int ra[4] = {a[g * 8 + q], a[(g + 8) * 8 + q], a[g * 8 + q + 4], a[(g + 8) * 8 + q + 4]};
  int rb[2] = {b[g * 8 + q], b[g * 8 + q + 4]};
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  c[g * 8 + q * 2] = d[0]; c[g * 8 + q * 2 + 1] = d[1];
  c[(g + 8) * 8 + q * 2] = d[2]; c[(g + 8) * 8 + q * 2 + 1] = d[3];
}
// The copy is read before it was waited for.
extern "C" __global__ void missing_wait(const float4* a, float4* c) {
  __shared__ float4 s[32];
  __pipeline_memcpy_async(&s[threadIdx.x], a + threadIdx.x, 16);
  __pipeline_commit();
  __syncthreads();
  c[threadIdx.x] = s[threadIdx.x];
}
