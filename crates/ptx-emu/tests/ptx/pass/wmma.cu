#include <mma.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using namespace nvcuda;
using namespace wmma::experimental;
// D = A B + C on fragments of every kind that mma.h knows, matrices without gaps. A kernel's name tells its form:
// shape, layouts of A and B, types of D, A, B and C, layout of C and D.
template <class L> struct layout { static const bool row = true; static const wmma::layout_t c = wmma::mem_row_major; };
template <> struct layout<wmma::col_major> { static const bool row = false; static const wmma::layout_t c = wmma::mem_col_major; };
enum { plain, clamp, bit_and, bit_xor };
template <int OP, class D, class A, class B, class C> __device__ void multiply(D& d, const A& a, const B& b, const C& c) {
  if constexpr (OP == plain) wmma::mma_sync(d, a, b, c);
  if constexpr (OP == clamp) wmma::mma_sync(d, a, b, c, true);
  if constexpr (OP == bit_and) wmma::bmma_sync(d, a, b, c, bmmaBitOpAND);
  if constexpr (OP == bit_xor) wmma::bmma_sync(d, a, b, c, bmmaBitOpXOR);
}
template <int OP, int M, int N, int K, class LA, class LB, class T, class D, class C, class LC, class S>
__device__ void product(const S* a, const S* b, const C* c, D* d) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, C> fc;
  wmma::fragment<wmma::accumulator, M, N, K, D> fd;
  wmma::load_matrix_sync(fa, a, layout<LA>::row ? K : M);
  wmma::load_matrix_sync(fb, b, layout<LB>::row ? N : K);
  wmma::load_matrix_sync(fc, c, layout<LC>::row ? N : M, layout<LC>::c);
  multiply<OP>(fd, fa, fb, fc);
  wmma::store_matrix_sync(d, fd, layout<LC>::row ? N : M, layout<LC>::c);
}
using row = wmma::row_major; using col = wmma::col_major;
using f16 = half; using bf16 = __nv_bfloat16; using tf32 = wmma::precision::tf32; using f32 = float; using f64 = double;
using s8 = signed char; using u8 = unsigned char; using s32 = int;
using s4 = precision::s4; using u4 = precision::u4; using b1 = precision::b1;
#define FORM(SUFFIX, OP, M, N, K, LA, LB, D, T, S, C, LC) \
  extern "C" __global__ void wmma_m##M##n##N##k##K##_##LA##_##LB##_##D##_##T##_##T##_##C##_##LC##SUFFIX( \
    const S* a, const S* b, const C* c, D* d) { product<OP, M, N, K, LA, LB, T, D, C, LC>(a, b, c, d); }
#define F16(M, N, LA, LB, D, C, LC) FORM(, plain, M, N, 16, LA, LB, D, f16, f16, C, LC)
F16(16, 16, row, row, f32, f32, row) F16(16, 16, row, col, f32, f32, col) F16(16, 16, col, row, f32, f32, row) F16(16, 16, col, col, f32, f32, col)
F16(16, 16, row, col, f16, f16, row) F16(16, 16, col, row, f16, f16, col) F16(16, 16, row, col, f16, f32, row) F16(16, 16, row, col, f32, f16, row)
F16(32, 8, row, row, f32, f32, row) F16(32, 8, col, col, f32, f32, col) F16(32, 8, row, col, f16, f16, row) F16(32, 8, col, row, f16, f16, col)
F16(8, 32, row, row, f32, f32, row) F16(8, 32, col, col, f32, f32, col) F16(8, 32, row, col, f16, f16, row) F16(8, 32, col, row, f16, f16, col)
#define PAIR(M, N, K, T, S, C) FORM(, plain, M, N, K, row, col, C, T, S, C, row) FORM(, plain, M, N, K, col, row, C, T, S, C, col)
PAIR(16, 16, 16, bf16, bf16, f32) PAIR(32, 8, 16, bf16, bf16, f32) PAIR(8, 32, 16, bf16, bf16, f32) PAIR(16, 16, 8, tf32, f32, f32) PAIR(8, 8, 4, f64, f64, f64)
PAIR(16, 16, 16, s8, s8, s32) PAIR(32, 8, 16, s8, s8, s32) PAIR(8, 32, 16, s8, s8, s32)
PAIR(16, 16, 16, u8, u8, s32) PAIR(32, 8, 16, u8, u8, s32) PAIR(8, 32, 16, u8, u8, s32)
FORM(_satfinite, clamp, 16, 16, 16, row, col, s32, s8, s8, s32, row) FORM(_satfinite, clamp, 8, 32, 16, row, col, s32, u8, u8, s32, row)
FORM(, plain, 8, 8, 32, row, col, s32, s4, int, s32, row) FORM(, plain, 8, 8, 32, row, col, s32, u4, unsigned, s32, col)
FORM(_satfinite, clamp, 8, 8, 32, row, col, s32, s4, int, s32, row)
FORM(_and, bit_and, 8, 8, 128, row, col, s32, b1, unsigned, s32, row) FORM(_xor, bit_xor, 8, 8, 128, row, col, s32, b1, unsigned, s32, col)
