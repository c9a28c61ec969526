constexpr int N_THREADS = 2 * TILE_N;
#include "tensor_core.cuh"

constexpr int DEPTH = 64;             // of a tile along k
constexpr int WARPS_N = TILE_N / 32;  // a warp has 32 columns
#if __CUDA_ARCH__ >= 900
constexpr int BLOCKS_PER_SM = 2;
#else
constexpr int BLOCKS_PER_SM = N_THREADS == 256 ? 1 : 2;  // as many as shared memory lets in
#endif
static_assert(sizeof(ElementA) == 2 && sizeof(ElementB) == 2, "f16 or bf16");

constexpr unsigned SIZE_A = TILE_M * DEPTH * 2;
constexpr unsigned SIZE = SIZE_A + TILE_N * DEPTH * 2;

// Multiple of 1024, as the swizzle asks for.
__device__ __forceinline__ unsigned stages_base() {
    extern __shared__ __align__(1024) unsigned char stages[];
    return static_cast<unsigned>(__cvta_generic_to_shared(stages));
}

// Starts copying both tiles of a step along k, into its stage.
template <bool A_ALONG_K, bool B_ALONG_K, int BYTES>
__device__ __forceinline__ void fetch_step(const Matrices& of, unsigned base, int row0, int col0, int step) {
    const int k0 = step * DEPTH;
    const unsigned to = base + step % STAGES * SIZE;
    if (k0 < of.k) {
        if constexpr (A_ALONG_K) {
            copy_tile<TILE_M, DEPTH, BYTES>(to, of.a, row0, k0, of.m, of.k, of.a_pitch,
                                             of.a_step);
        } else {
            copy_tile<DEPTH, TILE_M, BYTES>(to, of.a, k0, row0, of.k, of.m, of.a_pitch,
                                             of.a_step);
        }
        if constexpr (B_ALONG_K) {
            copy_tile<TILE_N, DEPTH, BYTES>(to + SIZE_A, of.b, col0, k0, of.n, of.k,
                                             of.b_pitch, of.b_step);
        } else {
            copy_tile<DEPTH, TILE_N, BYTES>(to + SIZE_A, of.b, k0, col0, of.k, of.n,
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

template <bool A_ALONG_K, bool B_ALONG_K, int BYTES>
__device__ __forceinline__ void product_tile(const Matrices& of, int row0, int col0,
                                             const Epilogue<3>& epilogue) {
    const unsigned base = stages_base();
    auto fetch = [&](int step) {
        fetch_step<A_ALONG_K, B_ALONG_K, BYTES>(of, base, row0, col0, step);
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
#pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step) {
        fetch(step);
    }
    const int steps = (of.k + DEPTH - 1) / DEPTH;
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        // The stage that is filled next was read in the step before.
        __syncthreads();
        fetch(step + STAGES - 1);
        const unsigned tile_a = base + step % STAGES * SIZE;
        const unsigned tile_b = tile_a + SIZE_A;
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

    static_assert(PIECES_N == 4, "32 columns");
    // The stages are not needed any more.
    __syncthreads();
    extern __shared__ __align__(1024) unsigned char stages[];
    auto& space = reinterpret_cast<Epilogue<3>::Tile*>(stages)[warp];
#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) {
        const int to_row = row0 + warp_m + i * 16 + lane / 4;
        epilogue.rows(to_row, col0 + warp_n, &sum[i][0][0], space);
        epilogue.rows(to_row + 8, col0 + warp_n, &sum[i][0][2], space);
    }
}
