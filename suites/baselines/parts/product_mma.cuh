constexpr int N_THREADS = 128;
#include "tensor_core.cuh"

constexpr int DEPTH = 64;  // of a tile along k
constexpr int STAGES = 4;
constexpr int WARPS_N = 2;
constexpr int BLOCKS_PER_SM = 1;
static_assert(sizeof(ElementA) == 2 && sizeof(ElementB) == 2, "f16 or bf16");

constexpr unsigned BYTES_A = TILE_M * DEPTH * 2;
constexpr unsigned BYTES = BYTES_A + TILE_N * DEPTH * 2;

// Multiple of 1024, as the swizzle asks for.
__device__ __forceinline__ unsigned stages_base() {
    extern __shared__ __align__(1024) unsigned char stages[];
    return static_cast<unsigned>(__cvta_generic_to_shared(stages));
}

// Starts copying both tiles of a step along k, into its stage.
template <bool A_ALONG_K, bool B_ALONG_K, bool WIDE>
__device__ __forceinline__ void fetch_step(const Matrices& of, unsigned base, int row0, int col0, int step) {
    const int k0 = step * DEPTH;
    const unsigned to = base + step % STAGES * BYTES;
    if (k0 < of.k) {
        if constexpr (A_ALONG_K) {
            copy_tile<TILE_M, DEPTH, WIDE>(to, of.a, row0, k0, of.m, of.k, of.a_pitch,
                                             of.a_step);
        } else {
            copy_tile<DEPTH, TILE_M, WIDE>(to, of.a, k0, row0, of.k, of.m, of.a_pitch,
                                             of.a_step);
        }
        if constexpr (B_ALONG_K) {
            copy_tile<TILE_N, DEPTH, WIDE>(to + BYTES_A, of.b, col0, k0, of.n, of.k,
                                             of.b_pitch, of.b_step);
        } else {
            copy_tile<DEPTH, TILE_N, WIDE>(to + BYTES_A, of.b, k0, col0, of.k, of.n,
                                             of.b_pitch, of.b_step);
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

constexpr int WARP_M = TILE_M / 2;
constexpr int WARP_N = TILE_N / WARPS_N;
constexpr int PIECES_M = WARP_M / 16;
constexpr int PIECES_N = WARP_N / 8;

// Address of a chunk of 8 elements in a tile: `x` counts along m or n, `k` along k; multiples of 8.
template <bool ALONG_K, int EXTENT>
__device__ __forceinline__ unsigned chunk_at(unsigned tile, int x, int k) {
    return tile + (ALONG_K ? place_of<EXTENT>(x, k / 8) : place_of<DEPTH>(k, x / 8));
}

template <bool A_ALONG_K, bool B_ALONG_K, bool WIDE>
__device__ __forceinline__ void product_tile(const Matrices& of, int row0, int col0,
                                             const Epilogue& epilogue) {
    const unsigned base = stages_base();
    auto fetch = [&](int step) {
        fetch_step<A_ALONG_K, B_ALONG_K, WIDE>(of, base, row0, col0, step);
    };
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int warp_m = warp / WARPS_N * WARP_M;
    const int warp_n = warp % WARPS_N * WARP_N;
    // Which of the four 8x8 matrices of a load this lane addresses, and the row in it.
    const int upper = lane / 16 * 8;
    const int lower = lane / 8 % 2 * 8;
    const int row = lane % 8;

    float sum[PIECES_M][PIECES_N][4] = {};
    for (int step = 0; step < STAGES - 1; ++step) {
        fetch(step);
    }
    const int steps = (of.k + DEPTH - 1) / DEPTH;
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        // The stage that is filled next was read in the step before.
        __syncthreads();
        fetch(step + STAGES - 1);
        const unsigned tile_a = base + step % STAGES * BYTES;
        const unsigned tile_b = tile_a + BYTES_A;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            unsigned a[PIECES_M][4];
            unsigned b[PIECES_N / 2][4];
#pragma unroll
            for (int i = 0; i < PIECES_M; ++i) {
                const int x = warp_m + i * 16 + lower;
                const unsigned address =
                    A_ALONG_K ? chunk_at<A_ALONG_K, TILE_M>(tile_a, x + row, k + upper)
                              : chunk_at<A_ALONG_K, TILE_M>(tile_a, x, k + upper + row);
                load_matrices<A_ALONG_K>(a[i], address);
            }
#pragma unroll
            for (int j = 0; j < PIECES_N / 2; ++j) {
                const int x = warp_n + j * 16 + upper;
                const unsigned address =
                    B_ALONG_K ? chunk_at<B_ALONG_K, TILE_N>(tile_b, x + row, k + lower)
                              : chunk_at<B_ALONG_K, TILE_N>(tile_b, x, k + lower + row);
                load_matrices<B_ALONG_K>(b[j], address);
            }
#pragma unroll
            for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
                for (int j = 0; j < PIECES_N; ++j) {
                    multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");

#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
        for (int j = 0; j < PIECES_N; ++j) {
            const int to_row = row0 + warp_m + i * 16 + lane / 4;
            const int to_col = col0 + warp_n + j * 8 + lane % 4 * 2;
            epilogue.pair(to_row, to_col, sum[i][j][0], sum[i][j][1]);
            epilogue.pair(to_row + 8, to_col, sum[i][j][2], sum[i][j][3]);
        }
    }
}
