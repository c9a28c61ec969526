// sm_90a
#include <kg/hopper.cuh>
#define KERNEL extern "C" __global__ void
#define MAP const __grid_constant__ CUtensorMap
#define STAGES 2

// Sums of squares of rows: warp 0 fills a ring of tiles of 4 x 64, each other warp sums a row.
KERNEL tma_ring(MAP map, float* __restrict__ y, int cols) {
    __shared__ alignas(128) float ring[STAGES][4][64];
    __shared__ uint64_t full[STAGES];
    __shared__ uint64_t empty[STAGES];
    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int tiles = cols / 64;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            kg::mbarrier_init(&full[s], 1);
            kg::mbarrier_init(&empty[s], 4);
        }
        kg::fence_mbarrier_init();
    }
    __syncthreads();
    if (warp == 0) {
        if (kg::elect_one()) {
            for (int t = 0; t < tiles; ++t) {
                int s = t % STAGES;
                if (t >= STAGES) {
                    kg::mbarrier_wait(&empty[s], (t / STAGES - 1) % 2);
                }
                kg::mbarrier_arrive_expect_tx(&full[s], sizeof ring[0]);
                kg::tma_load(ring[s], &map, &full[s], 64 * t, 4 * blockIdx.x);
            }
        }
        return;
    }
    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        int s = t % STAGES;
        kg::mbarrier_wait(&full[s], t / STAGES % 2);
        float a = ring[s][warp - 1][lane];
        float b = ring[s][warp - 1][lane + 32];
        sum += a * a + b * b;
        __syncwarp();
        if (lane == 0) {
            kg::mbarrier_arrive(&empty[s]);
        }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) {
        y[4 * blockIdx.x + warp - 1] = sum;
    }
}

// The next tile comes while the one before is used; one thread of all loads.
KERNEL tma_ahead(MAP map, float* __restrict__ y, int tiles) {
    __shared__ alignas(128) float tile[2][128];
    __shared__ uint64_t full[2];
    if (threadIdx.x == 0) {
        kg::tma_prefetch(&map);
        kg::mbarrier_init(&full[0], 1);
        kg::mbarrier_init(&full[1], 1);
        kg::fence_mbarrier_init();
        kg::mbarrier_arrive_expect_tx(&full[0], 512);
        kg::tma_load(tile[0], &map, &full[0], 0, blockIdx.x);
    }
    __syncthreads();
    float most = -INFINITY;
    for (int t = 0; t < tiles; ++t) {
        if (threadIdx.x == 0 && t + 1 < tiles) {
            kg::mbarrier_arrive_expect_tx(&full[(t + 1) % 2], 512);
            kg::tma_load(tile[(t + 1) % 2], &map, &full[(t + 1) % 2], 128 * (t + 1), blockIdx.x);
        }
        kg::mbarrier_wait(&full[t % 2], t / 2 % 2);
        most = fmaxf(most, tile[t % 2][threadIdx.x]);
        __syncthreads();
    }
    y[128 * blockIdx.x + threadIdx.x] = most;
}

// Each block of a cluster loads a half for both.
KERNEL __cluster_dims__(2, 1, 1) tma_multicast(MAP map, float* __restrict__ y) {
    __shared__ alignas(128) float tile[128];
    __shared__ uint64_t full;
    unsigned rank = kg::cluster_rank();
    if (threadIdx.x == 0) {
        kg::mbarrier_init(&full, 1);
        kg::fence_mbarrier_init();
        kg::mbarrier_arrive_expect_tx(&full, sizeof tile);
    }
    kg::cluster_sync();
    if (threadIdx.x == 0) {
        int first = 128 * (blockIdx.x / 2);
        kg::tma_load_multicast(tile + 64 * rank, &map, &full, 3, first + 64 * rank);
    }
    kg::mbarrier_wait(&full, 0);
    y[64 * blockIdx.x + threadIdx.x] = tile[threadIdx.x] * tile[64 + threadIdx.x] + rank;
    kg::cluster_sync();
}
