// f32 by FMA: a warp has 64 columns, a thread 8 of them and 8 or 4 rows; a ring of stages is filled by `cp.async`.
constexpr int DEPTH = 8;  // of a tile along k
constexpr int STAGES = 4;

// Stored as [k][x]. The padding keeps transposing copies apart.
template <int TILE_M, int TILE_N>
struct alignas(16) Stage {
    float a[DEPTH][TILE_M + 4];
    float b[DEPTH][TILE_N];
};

template <int TILE_M, int TILE_N, int THREADS, Input INPUT>
__device__ __forceinline__ void multiply_tile(const float* input, const float* weight, const Convolution& of,
                                              const Tile& tile, const Outputs& output) {
    constexpr int WARPS_N = TILE_N / 64;
    constexpr int WARP_M = TILE_M * WARPS_N * 32 / THREADS;
    constexpr int HALVES_M = WARP_M / 16;  // a thread's rows are in pieces of four, 16 apart
    static_assert(THREADS >= TILE_N, "a thread gathers one column");
    __shared__ Stage<TILE_M, TILE_N> stages[STAGES];
    __shared__ Tap table[INPUT == Input::POINTS ? 1 : TABLE];
    const int thread = threadIdx.x;

    // The weights: neighbouring threads take neighbours along k.
    const int a_k = thread % DEPTH;
    const int a_row = thread / DEPTH;
    const int a_rows = of.channels - tile.row0 - a_row;  // from this thread's first row on
    const int a_next = THREADS / DEPTH * of.row_step;
    const float* a_from = weight + (tile.group * of.channels + tile.row0 + a_row) * of.row_step + tile.k_first + a_k;
    auto fetch_a = [&](Stage<TILE_M, TILE_N>& to, int step) {
        const bool inside_k = tile.k_first + step * DEPTH + a_k < tile.k_end;
        const float* from = a_from + step * DEPTH;
#pragma unroll
        for (int i = 0; i < TILE_M; i += THREADS / DEPTH, from += a_next) {
            copy_async<4>(&to.a[a_k][a_row + i], from, inside_k && i < a_rows);
        }
    };

    // Points as they are: four columns at once, which are of one image.
    constexpr int QUADS = TILE_N / 4;
    const int quad = thread % QUADS * 4;
    const int points = of.out_z * of.out_y * of.out_x;
    const int first = tile.column0 + quad;
    const long long plane = (static_cast<long long>(first / points) * of.groups + tile.group) * of.depth;
    const float* quad_from = input + plane * points + first % points;
    auto fetch_points = [&](Stage<TILE_M, TILE_N>& to, int step) {
#pragma unroll
        for (int b_k = 0; b_k < DEPTH; b_k += THREADS / QUADS) {
            const int k = tile.k_first + step * DEPTH + b_k + thread / QUADS;
            const bool inside = first < tile.columns && k < tile.k_end;
            const float* from = inside ? quad_from + static_cast<long long>(k) * points : input;
            copy_async<16>(&to.b[b_k + thread / QUADS][quad], from, inside);
        }
    };

    // Windows: a column per thread.
    const int column = thread % TILE_N;
    const Window window(input, of, tile, tile.column0 + column);
    auto fetch_windows = [&](Stage<TILE_M, TILE_N>& to, int step) {
        const int first = step * DEPTH % TABLE;
        if (first == 0) {
            // The table was last read before the barrier of this step.
            fill_table(table, of, tile.k_first + step * DEPTH, tile.k_end);
            __syncthreads();
        }
        // Reads of shared memory between the copies would cost each a wait.
        constexpr int B_NEXT = THREADS / TILE_N;
        Tap taps[DEPTH / B_NEXT];
#pragma unroll
        for (int i = 0; i < DEPTH / B_NEXT; ++i) {
            taps[i] = table[first + thread / TILE_N + i * B_NEXT];
        }
#pragma unroll
        for (int i = 0; i < DEPTH / B_NEXT; ++i) {
            copy_async<4>(&to.b[thread / TILE_N + i * B_NEXT][column], window.at(taps[i]),
                          window.meets<INPUT>(taps[i], of));
        }
    };

    const int steps = (tile.k_end - tile.k_first + DEPTH - 1) / DEPTH;
    auto fetch = [&](int step) {
        if (step < steps) {
            fetch_a(stages[step % STAGES], step);
            if constexpr (INPUT == Input::POINTS) {
                fetch_points(stages[step % STAGES], step);
            } else {
                fetch_windows(stages[step % STAGES], step);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int step = 0; step < STAGES - 1; ++step) {
        fetch(step);
    }

    // A thread's sums are in corners of four by four, so that a warp reads all banks at once.
    const int warp = thread / 32;
    const int m0 = warp / WARPS_N * WARP_M + thread % 32 / 8 * 4;
    const int n0 = warp % WARPS_N * 64 + thread % 8 * 4;
    float sums[HALVES_M][2][4][4] = {};
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        // The stage that is filled next was read in the step before.
        __syncthreads();
        fetch(step + STAGES - 1);
        const Stage<TILE_M, TILE_N>& stage = stages[step % STAGES];
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float a[HALVES_M][4];
            float b[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int half = 0; half < HALVES_M; ++half) {
                    a[half][i] = stage.a[k][m0 + half * 16 + i];
                }
                b[0][i] = stage.b[k][n0 + i];
                b[1][i] = stage.b[k][n0 + 32 + i];
            }
#pragma unroll
            for (int piece = 0; piece < HALVES_M * 8; ++piece) {
                const int half = piece / 8, side = piece / 4 % 2, i = piece % 4;
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sums[half][side][i][j] = fmaf(a[half][i], b[side][j], sums[half][side][i][j]);
                }
            }
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");

    const int row0 = tile.group * of.channels + tile.row0 + m0;
#pragma unroll
    for (int half = 0; half < HALVES_M; ++half) {
        output(row0 + half * 16, tile.column0 + n0, sums[half][0]);
        output(row0 + half * 16, tile.column0 + n0 + 32, sums[half][1]);
    }
}
