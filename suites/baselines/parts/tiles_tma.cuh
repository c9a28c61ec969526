#include <kg/hopper.cuh>

// Matrix products of tiles: one thread copies by TMA, warpgroups multiply 64 rows each by wgmma; blocks take
// tile after tile. f16 or bf16.
constexpr int DEPTH = 64;  // of a tile along k: a row of 128 bytes
constexpr int N_GROUPS = TILE_M / 64;
constexpr int TILE_THREADS = 128 * (1 + N_GROUPS);
// Two blocks where registers and shared memory are left: one stores while the other multiplies.
constexpr int BLOCKS_PER_SM = N_GROUPS == 1 && TILE_N <= 128 ? 2 : 1;
constexpr kg::mma TYPE = BF16 ? kg::mma::bf16 : kg::mma::f16;

// Columns of 64 elements, 128-byte swizzled, below each other.
struct alignas(1024) Stage {
    unsigned short a[TILE_M * DEPTH];
    unsigned short b[TILE_N * DEPTH];
};

// There is a step at least. `input(tile)` is a function (step, stage, barrier) that starts the copies of a step along k;
// `output(tile)` one of (row, column, sums) that takes 32 columns of a row, two of every eight, four sums apart.
template <bool A_ALONG_K, bool B_ALONG_K, class Input, class Output>
__device__ __forceinline__ void multiply_tiles(long long n_tiles, int steps, Input input, Output output) {
    extern __shared__ __align__(1024) unsigned char dynamic[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    Stage* stages = reinterpret_cast<Stage*>(dynamic);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            kg::mbarrier_init(&full[stage], 1);
            kg::mbarrier_init(&empty[stage], N_GROUPS);
        }
        kg::fence_mbarrier_init();
    }
    __syncthreads();

    unsigned turn = 0;  // of the ring of stages
    if (threadIdx.x < 128) {
        if constexpr (N_GROUPS == 2) {
            kg::registers_dec<40>();
        }
        if (threadIdx.x == 0) {
            for (long long tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
                const auto copy = input(tile);
                for (int step = 0; step < steps; ++step, ++turn) {
                    const unsigned stage = turn % STAGES;
                    kg::mbarrier_wait(&empty[stage], turn / STAGES % 2 ^ 1);
                    kg::mbarrier_arrive_expect_tx(&full[stage], sizeof(Stage));
                    copy(step, stages[stage], &full[stage]);
                }
            }
        }
        return;
    }
    if constexpr (N_GROUPS == 2) {
        kg::registers_inc<232>();
    }
    const int group = threadIdx.x / 128 - 1;
    const int row = group * 64 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    auto release = [&](unsigned stage) {
        if (threadIdx.x % 128 == 0) {
            kg::mbarrier_arrive(&empty[stage]);
        }
    };
    for (long long tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        float sum[TILE_N / 2];
        for (int step = 0; step < steps; ++step, ++turn) {
            const unsigned stage = turn % STAGES;
            kg::mbarrier_wait(&full[stage], turn / STAGES % 2);
            const auto a = kg::wgmma_descriptor<128>(&stages[stage].a[group * 64 * 64], DEPTH * 128, 1024);
            const auto b = kg::wgmma_descriptor<128>(stages[stage].b, DEPTH * 128, 1024);
            kg::wgmma_fence();
#pragma unroll
            for (int k = 0; k < DEPTH; k += 16) {
                kg::wgmma<TYPE, TILE_N, !A_ALONG_K, !B_ALONG_K>(
                    sum, kg::wgmma_advance(a, k * (A_ALONG_K ? 2 : 128)),
                    kg::wgmma_advance(b, k * (B_ALONG_K ? 2 : 128)), step + k > 0);
            }
            kg::wgmma_commit();
            // The products of the step before are made: its stage can be filled again.
            kg::wgmma_wait<1>();
            if (step > 0) {
                release((turn - 1) % STAGES);
            }
        }
        kg::wgmma_wait<0>();
        kg::wgmma_hold(sum);
        release((turn - 1) % STAGES);
        const auto store = output(tile);
#pragma unroll
        for (int j = 0; j < TILE_N / 8; j += 4) {
            store(row, j * 8, &sum[j * 4]);
            store(row + 8, j * 8, &sum[j * 4 + 2]);
        }
    }
}
