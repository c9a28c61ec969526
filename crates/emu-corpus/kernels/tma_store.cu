// sm_90a
#include <cuda_fp16.h>
#include <kg/hopper.cuh>
#define KERNEL extern "C" __global__ void
#define MAP const __grid_constant__ CUtensorMap

// y = x + 1 by tiles of 16 x 32.
KERNEL tma_copy(MAP in, MAP out) {
    __shared__ alignas(128) float tile[16][32];
    __shared__ uint64_t full;
    int c0 = blockIdx.x * 32;
    int r0 = blockIdx.y * 16;
    if (threadIdx.x == 0) {
        kg::mbarrier_init(&full, 1);
        kg::mbarrier_arrive_expect_tx(&full, sizeof tile);
        kg::tma_load(tile, &in, &full, c0, r0);
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    for (int i = threadIdx.x; i < 512; i += 64) {
        tile[i / 32][i % 32] += 1.0f;
    }
    kg::fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
        kg::tma_store(&out, tile, c0, r0);
        kg::bulk_commit();
        kg::bulk_wait_read<0>();
    }
}

// y = x * x, two parts of a block through the same shared memory.
KERNEL bulk_store(const float* __restrict__ x, float* __restrict__ y) {
    __shared__ alignas(16) float part[64];
    for (int k = 0; k < 2; ++k) {
        int i = 128 * blockIdx.x + 64 * k + threadIdx.x;
        part[threadIdx.x] = x[i] * x[i];
        kg::fence_async_shared();
        __syncthreads();
        if (threadIdx.x == 0) {
            kg::bulk_store(y + 128 * blockIdx.x + 64 * k, part, 256);
            kg::bulk_commit();
            kg::bulk_wait_read<0>();
        }
        __syncthreads();
    }
}

// Sums of columns: every block adds those of its rows.
KERNEL tma_reduce(const float* __restrict__ x, MAP out, int rows) {
    __shared__ alignas(128) float part[64];
    float sum = 0.0f;
    for (int r = 0; r < rows; ++r) {
        sum += x[(blockIdx.x * rows + r) * 64 + threadIdx.x];
    }
    part[threadIdx.x] = sum;
    kg::fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%1, {%2}], [%0];"
                     ::"r"(kg::smem_address(part)), "l"((uint64_t)&out), "r"(0) : "memory");
        kg::bulk_commit();
        kg::bulk_wait_read<0>();
    }
}

// A histogram of 64 bins: counted in shared memory, added to the other blocks' by one copy.
KERNEL bulk_reduce(const int* __restrict__ x, int* bins, int n) {
    __shared__ alignas(16) int count[64];
    count[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) {
        atomicAdd(&count[x[i]], 1);
    }
    kg::fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;"
                     ::"l"(bins), "r"(kg::smem_address(count)), "r"(256) : "memory");
        kg::bulk_commit();
        kg::bulk_wait_read<0>();
    }
}

// Transposes 16 x 16 halves by ldmatrix and stmatrix.
KERNEL stmatrix_turn(const __half* __restrict__ x, __half* __restrict__ y) {
    __shared__ alignas(16) __half in[16][16];
    __shared__ alignas(16) __half out[16][16];
    for (int i = threadIdx.x; i < 256; i += 32) {
        in[i / 16][i % 16] = x[256 * blockIdx.x + i];
    }
    __syncwarp();
    uint32_t r[4];
    int row = threadIdx.x % 16;
    int col = threadIdx.x / 16 * 8;
    kg::ldmatrix(r, &in[row][col]);
    kg::stmatrix<true>(&out[col + row % 8][row / 8 * 8], r);
    kg::fence_async_shared();
    __syncwarp();
    if (threadIdx.x == 0) {
        kg::bulk_store(y + 256 * blockIdx.x, out, 512);
        kg::bulk_commit();
        kg::bulk_wait_read<0>();
    }
}
