// sm_90
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

#define BLOCKS 4

// y[row] = x[row] / sum(|x[row]|), a row spread over a cluster of four blocks of 64 threads:
// every block reads the others' sums through distributed shared memory.
extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1)
cluster_l1_normalize(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float warp_sums[2];
    __shared__ float block_sum;
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank();
    int tid = threadIdx.x;
    size_t base = (size_t)(blockIdx.x / BLOCKS) * cols;
    float sum = 0.0f;
    for (int i = rank * 64 + tid; i < cols; i += BLOCKS * 64) {
        sum += fabsf(x[base + i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (tid % 32 == 0) {
        warp_sums[tid / 32] = sum;
    }
    __syncthreads();
    if (tid == 0) {
        block_sum = warp_sums[0] + warp_sums[1];
    }
    cluster.sync();
    float total = 0.0f;
    for (int r = 0; r < BLOCKS; ++r) {
        total += *cluster.map_shared_rank(&block_sum, r);
    }
    for (int i = rank * 64 + tid; i < cols; i += BLOCKS * 64) {
        y[base + i] = x[base + i] / total;
    }
    cluster.sync();
}

#define BINS 64

// Histogram with the bins spread over a cluster of two blocks: each adds to the owner's shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
cluster_histogram(const int* __restrict__ x, int* __restrict__ bins, int n) {
    __shared__ int local[BINS / 2];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank();
    for (int i = threadIdx.x; i < BINS / 2; i += blockDim.x) {
        local[i] = 0;
    }
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = x[i];
        int* owner = cluster.map_shared_rank(local, bin / (BINS / 2));
        atomicAdd(owner + bin % (BINS / 2), 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < BINS / 2; i += blockDim.x) {
        atomicAdd(&bins[rank * (BINS / 2) + i], local[i]);
    }
}
