#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

#define BM 32
#define BN 32
#define BK 16

// c = a * b in bf16 with f32 sums for any m, n, k; four warps of 16x16 outputs.
extern "C" __global__ void __launch_bounds__(128)
wmma_bf16_tail(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
               float* __restrict__ c, int m, int n, int k) {
    __shared__ alignas(32) __nv_bfloat16 as[BM][BK + 8];
    __shared__ alignas(32) __nv_bfloat16 bs[BK][BN + 8];
    __shared__ alignas(32) float cs[BM][BN + 4];
    int tid = threadIdx.x;
    int warp_row = tid / 32 / 2 * 16;
    int warp_col = tid / 32 % 2 * 16;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
    wmma::fill_fragment(acc, 0.0f);
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int i = tid; i < BM * BK; i += blockDim.x) {
            int r = row0 + i / BK;
            int p = k0 + i % BK;
            __nv_bfloat16 value = __float2bfloat16(0.0f);
            if (r < m && p < k) {
                value = a[r * k + p];
            }
            as[i / BK][i % BK] = value;
        }
        for (int i = tid; i < BK * BN; i += blockDim.x) {
            int p = k0 + i / BN;
            int q = col0 + i % BN;
            __nv_bfloat16 value = __float2bfloat16(0.0f);
            if (p < k && q < n) {
                value = b[p * n + q];
            }
            bs[i / BN][i % BN] = value;
        }
        __syncthreads();
        wmma::load_matrix_sync(fa, &as[warp_row][0], BK + 8);
        wmma::load_matrix_sync(fb, &bs[0][warp_col], BN + 8);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncthreads();
    }
    wmma::store_matrix_sync(&cs[warp_row][warp_col], acc, BN + 4, wmma::mem_row_major);
    __syncthreads();
    for (int i = tid; i < BM * BN; i += blockDim.x) {
        int r = row0 + i / BN;
        int q = col0 + i % BN;
        if (r < m && q < n) {
            c[r * n + q] = cs[i / BN][i % BN];
        }
    }
}

// c = a * b in tf32 with f32 sums, one warp per 16x16 outputs; m and n are multiples of 16, k of 8.
extern "C" __global__ void wmma_tf32(const float* __restrict__ a, const float* __restrict__ b,
                                     float* __restrict__ c, int m, int n, int k) {
    int warps = blockDim.x / 32;
    int row = (blockIdx.y * warps + threadIdx.x / 32) * 16;
    int col = blockIdx.x * 16;
    if (row >= m) {
        return;
    }
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
    wmma::fill_fragment(acc, 0.0f);
    for (int k0 = 0; k0 < k; k0 += 8) {
        wmma::load_matrix_sync(fa, a + row * k + k0, k);
        wmma::load_matrix_sync(fb, b + k0 * n + col, n);
        for (int t = 0; t < fa.num_elements; ++t) {
            fa.x[t] = wmma::__float_to_tf32(fa.x[t]);
        }
        for (int t = 0; t < fb.num_elements; ++t) {
            fb.x[t] = wmma::__float_to_tf32(fb.x[t]);
        }
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(c + row * n + col, acc, n, wmma::mem_row_major);
}
