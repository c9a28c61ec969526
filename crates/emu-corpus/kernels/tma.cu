// sm_90a
#include <kg/hopper.cuh>
#define KERNEL extern "C" __global__ void
#define MAP const __grid_constant__ CUtensorMap

// One thread makes an mbarrier that one copy completes.
__device__ __forceinline__ void expect(uint64_t* full, unsigned bytes) {
    kg::mbarrier_init(full, 1);
    kg::fence_mbarrier_init();
    kg::mbarrier_arrive_expect_tx(full, bytes);
}

// y = 2 x by tiles of 128; the last one is short.
KERNEL tma_1d(MAP map, float* __restrict__ y, int n) {
    __shared__ alignas(128) float tile[128];
    __shared__ uint64_t full;
    int first = blockIdx.x * 128;
    if (threadIdx.x == 0) {
        expect(&full, sizeof tile);
        kg::tma_load(tile, &map, &full, first);
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    int i = first + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * tile[threadIdx.x];
    }
}

// y[c][r] = x[r][c] by tiles of 32 x 32.
KERNEL tma_2d(MAP map, float* __restrict__ y, int rows, int cols) {
    __shared__ alignas(128) float tile[32][32];
    __shared__ uint64_t full;
    int r0 = blockIdx.y * 32;
    int c0 = blockIdx.x * 32;
    if (threadIdx.x == 0) {
        expect(&full, sizeof tile);
        kg::tma_load(tile, &map, &full, c0, r0);
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    for (int i = threadIdx.x; i < 1024; i += 128) {
        int r = i % 32;
        int c = i / 32;
        if (r0 + r < rows && c0 + c < cols) {
            y[(c0 + c) * rows + r0 + r] = tile[r][c];
        }
    }
}

// y[h][w] = sum over d of x[d][h][w]: two rows of h in a block.
KERNEL tma_3d(MAP map, float* __restrict__ y) {
    __shared__ alignas(128) float tile[6][2][16];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        expect(&full, sizeof tile);
        kg::tma_load(tile, &map, &full, 0, 2 * blockIdx.x, 0);
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    float sum = 0.0f;
    for (int d = 0; d < 6; ++d) {
        sum += tile[d][threadIdx.x / 16][threadIdx.x % 16];
    }
    y[32 * blockIdx.x + threadIdx.x] = sum;
}

// Mean of 2 x 2 pixels of 4 channels.
KERNEL tma_4d(MAP map, float* __restrict__ y) {
    __shared__ alignas(128) float tile[2][2][4];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        expect(&full, sizeof tile);
        kg::tma_load(tile, &map, &full, 0, 2 * blockIdx.x, 2 * blockIdx.y, blockIdx.z);
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    if (threadIdx.x < 4) {
        int c = threadIdx.x;
        float sum = tile[0][0][c] + tile[0][1][c] + tile[1][0][c] + tile[1][1][c];
        y[((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 4 + c] = 0.25f * sum;
    }
}

// Sum of all elements of an image of four dimensions, by one warp.
KERNEL tma_5d(MAP map, float* __restrict__ y) {
    __shared__ alignas(128) float tile[192];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        expect(&full, sizeof tile);
        kg::tma_load(tile, &map, &full, 0, 0, 0, 0, blockIdx.x);
    }
    __syncwarp();
    kg::mbarrier_wait(&full, 0);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < 192; i += 32) {
        sum += tile[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}

// A 3 x 3 convolution of 8 x 8 pixels of 4 channels, zeros around them: 32 pixels in a block.
KERNEL tma_im2col(MAP map, const float* __restrict__ weights, float* __restrict__ y) {
    __shared__ alignas(128) float tile[9][32][4];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        expect(&full, sizeof tile);
        for (int tap = 0; tap < 9; ++tap) {
            kg::tma_load_im2col(tile[tap], &map, &full, 0, -1, 4 * (int)blockIdx.x - 1, 0, tap % 3, tap / 3);
        }
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    float sum = 0.0f;
    for (int tap = 0; tap < 9; ++tap) {
        for (int c = 0; c < 4; ++c) {
            sum += tile[tap][threadIdx.x][c] * weights[tap * 4 + c];
        }
    }
    y[32 * blockIdx.x + threadIdx.x] = sum;
}

// Transposes rows of 128 bytes whose chunks are exchanged.
KERNEL tma_swizzle(MAP map, float* __restrict__ y) {
    __shared__ alignas(1024) float tile[64][32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        expect(&full, sizeof tile);
        kg::tma_load(tile, &map, &full, 0, 64 * blockIdx.x);
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    for (int i = threadIdx.x; i < 2048; i += 128) {
        int r = i % 64;
        int c = i / 64;
        int chunk = (c / 4) ^ (r % 8);
        y[c * 128 + 64 * blockIdx.x + r] = tile[r][chunk * 4 + c % 4];
    }
}

// Sums of rows that bulk copies bring.
KERNEL bulk_rows(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ alignas(16) float row[256];
    __shared__ float partial[2];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        expect(&full, 4 * cols);
        kg::bulk_load(row, x + blockIdx.x * cols, 4 * cols, &full);
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 64) {
        sum += row[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = partial[0] + partial[1];
    }
}
