// f16 and bf16 on tensor cores by `mma.sync`: the weights come by `cp.async`, the input by registers.
constexpr int N_THREADS = 256;
#include "tensor_core.cuh"
#include "convolution_points.cuh"

constexpr int DEPTH = 64;  // of a tile along k

// Tiles are of rows along k, in two stages.
template <int TILE_M, int TILE_N, int THREADS, Input INPUT>
__device__ __forceinline__ void multiply_tile(const T_input* input, const T_weight* weight, const Convolution& of,
                                              const Tile& tile, const Outputs& output) {
    constexpr int WARPS_N = TILE_N / 32;
    constexpr int WARP_M = TILE_M * WARPS_N * 32 / THREADS;
    constexpr int PIECES_M = WARP_M / 16;
    constexpr int CHUNKS = 8 * TILE_N / THREADS;  // of 8 elements along k that a thread gathers
    constexpr unsigned BYTES_A = TILE_M * DEPTH * 2;
    constexpr unsigned BYTES = BYTES_A + TILE_N * DEPTH * 2;
    extern __shared__ __align__(1024) unsigned char stages[];
    __shared__ Tap table[TABLE];
    const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(stages));
    const T_weight* a_from = weight + tile.group * of.channels * of.row_step;
    const int b_column = threadIdx.x % TILE_N;
    const int b_chunk = threadIdx.x / TILE_N * CHUNKS;
    const Window window(input, of, tile, tile.column0 + b_column);

    unsigned short gathered[CHUNKS][8];
    auto fetch = [&](int step) {
        const int k0 = tile.k_first + step * DEPTH;
        const int first = step * DEPTH % TABLE;
        if (first == 0) {
            // The table was last read before the barrier of this step.
            fill_table(table, of, k0, tile.k_end);
            __syncthreads();
        }
        copy_tile<TILE_M, DEPTH, 16>(base + step % 2 * BYTES, a_from, tile.row0, k0, of.channels, tile.k_end,
                                       of.row_step, 1);
        asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
        for (int e = 0; e < CHUNKS * 8; ++e) {
            gathered[e / 8][e % 8] = 0;
        }
        if (k0 + b_chunk * 8 < tile.k_end) {  // alike in a warp
#pragma unroll
            for (int e = 0; e < CHUNKS * 8; ++e) {
                const Tap tap = table[first + b_chunk * 8 + e];
                if (window.meets<INPUT>(tap, of)) {
                    gathered[e / 8][e % 8] = __builtin_bit_cast(unsigned short, *window.at(tap));
                }
            }
        }
    };
    auto store = [&](int step) {
        const unsigned to = base + step % 2 * BYTES + BYTES_A;
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; ++chunk) {
            const auto& e = gathered[chunk];
            asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(
                             to + place_of<TILE_N>(b_column, b_chunk + chunk)),
                         "r"(e[0] | e[1] << 16), "r"(e[2] | e[3] << 16), "r"(e[4] | e[5] << 16),
                         "r"(e[6] | e[7] << 16)
                         : "memory");
        }
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
    };

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int warp_m = warp / WARPS_N * WARP_M;
    const int warp_n = warp % WARPS_N * 32;
    // Which of the four 8x8 matrices of a load this lane addresses, and the row in it.
    const int upper = lane / 16 * 8;
    const int lower = lane / 8 % 2 * 8;
    const int row = lane % 8;
    float sums[PIECES_M][4][4] = {};
    const int steps = (tile.k_end - tile.k_first + DEPTH - 1) / DEPTH;
    fetch(0);
    store(0);
    for (int step = 0; step < steps; ++step) {
        // The other stage was last read before the previous barrier.
        if (step + 1 < steps) {
            fetch(step + 1);
        }
        const unsigned tile_a = base + step % 2 * BYTES;
        const unsigned tile_b = tile_a + BYTES_A;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            if (tile.k_first + step * DEPTH + k >= tile.k_end) {
                break;
            }
            unsigned a[PIECES_M][4];
            unsigned b[2][4];
#pragma unroll
            for (int i = 0; i < PIECES_M; ++i) {
                load_matrices<true>(a[i], tile_a + place_of<TILE_M>(warp_m + i * 16 + lower + row, (k + upper) / 8));
            }
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                load_matrices<true>(b[j], tile_b + place_of<TILE_N>(warp_n + j * 16 + upper + row, (k + lower) / 8));
            }
#pragma unroll
            for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    multiply(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
        if (step + 1 < steps) {
            store(step + 1);
        }
    }

    const Points<T_out> outputs(output.bias, output.out, output.channels, output.points, output.row_end, 0, tile.column0,
                                tile.columns);
    const Points<float> parts(nullptr, output.part, output.channels, output.points, output.row_end, 0, tile.column0,
                              tile.columns);
    const int row0 = tile.group * of.channels + tile.row0 + warp_m + lane / 4;
#pragma unroll
    for (int i = 0; i < PIECES_M; ++i) {
#pragma unroll
        for (int down = 0; down < 2; ++down) {
            const int to_row = row0 + i * 16 + down * 8;
            if (output.part) {
                parts(to_row, warp_n, &sums[i][0][down * 2]);
            } else {
                outputs(to_row, warp_n, &sums[i][0][down * 2]);
            }
        }
    }
}

// Copies rows into longer ones, whose further elements are 0: rows of a multiple of 16 bytes.
extern "C" __global__ void __launch_bounds__(256) padded_rows(const T_weight* __restrict__ from, T_weight* __restrict__ to,
                                                              long long count, int length, int padded) {
    const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
    if (i < count) {
        const int column = i % padded;
        to[i] = column < length ? from[i / padded * length + column] : kg::from_float<T_weight>(0.0f);
    }
}
