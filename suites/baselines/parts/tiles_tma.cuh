#include <kg/hopper.cuh>

// Matrix products of tiles: one thread copies by TMA, warpgroups multiply 64 rows each by wgmma; blocks, or clusters
// of blocks that share a factor, take tile after tile. f16 or bf16.
#ifndef CLUSTER
#define CLUSTER 1  // blocks
#define DEEP 1     // boxes of a stage along k
#endif
constexpr int DEPTH = 64 * DEEP;  // of a tile along k; 64 elements are a row of 128 bytes
constexpr int N_GROUPS = TILE_M / 64;
constexpr int TILE_THREADS = 128 * (1 + N_GROUPS);
// Two blocks where registers and shared memory are left: one stores while the other multiplies.
constexpr int BLOCKS_PER_SM = N_GROUPS == 1 && TILE_N <= 128 ? 2 : 1;
constexpr int BEHIND = DEEP == 1 ? 1 : 0;  // steps until a stage is known to be read
constexpr bool HALVES = CLUSTER == 2 && TILE_N == 256;  // whether the last tiles may be half as wide
constexpr kg::mma TYPE = BF16 ? kg::mma::bf16 : kg::mma::f16;

// Columns of 64 elements, 128-byte swizzled, below each other.
struct alignas(1024) Stage {
    unsigned short a[TILE_M * DEPTH];
    unsigned short b[TILE_N * DEPTH];
};

// Gives away 32 columns of a row at a time, two of every eight, four sums apart.
template <class Store, int N>
__device__ __forceinline__ void store_sums(const Store& store, int row, const float (&sum)[N]) {
#pragma unroll
    for (int j = 0; j < N; j += 16) {
        store(row, j * 2, &sum[j]);
        store(row + 8, j * 2, &sum[j + 2]);
    }
}

// There is a step at least. `input(tile)` is a function (step, stage, barrier) that starts the copies of a step along k;
// `output(tile)` is what `store_sums` takes, with the thread's first row in the tile and its sums. Tiles from `n_whole`
// on are halves, of which the first half of the sums is set. The blocks of a cluster take the same tiles, of which input and output make what is theirs.
template <bool A_ALONG_K, bool B_ALONG_K, class Input, class Output>
__device__ __forceinline__ void multiply_tiles(long long n_tiles, int steps, Input input, Output output,
                                               long long n_whole = 0) {
    extern __shared__ __align__(1024) unsigned char dynamic[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    Stage* stages = reinterpret_cast<Stage*>(dynamic);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            kg::mbarrier_init(&full[stage], 1);
            kg::mbarrier_init(&empty[stage], N_GROUPS * CLUSTER);
        }
        kg::fence_mbarrier_init();
    }
    auto synchronise = [] {
        __syncthreads();
        if constexpr (CLUSTER > 1) {
            kg::cluster_sync();
        }
    };
    synchronise();

    unsigned turn = 0;  // of the ring of stages
    const long long first = blockIdx.x / CLUSTER;
    if (threadIdx.x < 128) {
        if constexpr (N_GROUPS == 2) {
            kg::registers_dec<40>();
        }
        for (long long tile = first; threadIdx.x == 0 && tile < n_tiles; tile += gridDim.x / CLUSTER) {
            const auto copy = input(tile);
            const int left_out = HALVES && tile >= n_whole ? sizeof(Stage::b) / 2 : 0;
            for (int step = 0; step < steps; ++step, ++turn) {
                const unsigned stage = turn % STAGES;
                kg::mbarrier_wait(&empty[stage], turn / STAGES % 2 ^ 1);
                kg::mbarrier_arrive_expect_tx(&full[stage], sizeof(Stage) - left_out);
                copy(step, stages[stage], &full[stage]);
            }
        }
    } else {
        if constexpr (N_GROUPS == 2) {
            kg::registers_inc<232>();
        }
        const int group = threadIdx.x / 128 - 1;
        const auto first_a = kg::wgmma_descriptor<128>(&stages[0].a[group * 64 * 64], 64 * 128, 1024);
        // Boxes of 32 columns have rows of 64 bytes.
        constexpr int PITCH_B = !B_ALONG_K && TILE_N < 64 ? 64 : 128;
        const auto first_b = kg::wgmma_descriptor<PITCH_B>(stages[0].b, 64 * PITCH_B, 8 * PITCH_B);
        auto release = [&](unsigned stage) {
            const int block = threadIdx.x % 128;
            if (block < CLUSTER) {
                CLUSTER == 1 ? kg::mbarrier_arrive(&empty[stage]) : kg::mbarrier_arrive(&empty[stage], block);
            }
        };
        auto multiply = [&](auto& sum) {
            for (int step = 0; step < steps; ++step, ++turn) {
                const unsigned stage = turn % STAGES;
                kg::mbarrier_wait(&full[stage], turn / STAGES % 2);
                const auto a = kg::wgmma_advance(first_a, stage * sizeof(Stage));
                const auto b = kg::wgmma_advance(first_b, stage * sizeof(Stage));
                kg::wgmma_fence();
#pragma unroll
                for (int k = 0; k < DEPTH; k += 16) {
                    kg::wgmma<TYPE, sizeof(sum) / 2, !A_ALONG_K, !B_ALONG_K>(
                        sum, kg::wgmma_advance(a, k / 64 * TILE_M * 128 + k % 64 * (A_ALONG_K ? 2 : 128)),
                        kg::wgmma_advance(b, k / 64 * TILE_N * 128 + k % 64 * (B_ALONG_K ? 2 : PITCH_B)), step + k > 0);
                }
                kg::wgmma_commit();
                // The products of the step before, or of a deep stage, are made: it can be filled again.
                kg::wgmma_wait<BEHIND>();
                if (step >= BEHIND) {
                    release((turn - BEHIND) % STAGES);
                }
            }
            kg::wgmma_wait<0>();
            kg::wgmma_hold(sum);
            if (BEHIND > 0) {
                release((turn - BEHIND) % STAGES);
            }
        };
        const int row = group * 64 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
        for (long long tile = first; tile < n_tiles; tile += gridDim.x / CLUSTER) {
            float sum[TILE_N / 2];
            if (HALVES && tile >= n_whole) {
                multiply(reinterpret_cast<float (&)[TILE_N / (HALVES ? 4 : 2)]>(sum));
            } else {
                multiply(sum);
            }
            store_sums(output(tile), row, sum);
        }
    }
    // No block leaves while others copy into it or tell it of stages.
    if constexpr (CLUSTER > 1) {
        synchronise();
    }
}
