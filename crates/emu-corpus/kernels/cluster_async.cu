// sm_90a
#include <kg/hopper.cuh>
#define KERNEL extern "C" __global__ void
#define CLUSTER __cluster_dims__(4, 1, 1)

// Sum of a row of 256: the blocks of a cluster put their parts into block 0.
KERNEL CLUSTER dsmem_sum(const float* __restrict__ x, float* __restrict__ y) {
    __shared__ float parts[4];
    unsigned rank = kg::cluster_rank();
    float sum = x[64 * blockIdx.x + threadIdx.x] + x[64 * blockIdx.x + 32 + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    kg::cluster_sync();
    if (threadIdx.x == 0) {
        *kg::cluster_peer(&parts[rank], 0) = sum;
    }
    kg::cluster_sync();
    if (rank == 0 && threadIdx.x == 0) {
        y[blockIdx.x / 4] = parts[0] + parts[1] + parts[2] + parts[3];
    }
}

// Sums over all elements up to each: a block adds the totals of the blocks before it.
KERNEL CLUSTER dsmem_scan(const int* __restrict__ x, int* __restrict__ y) {
    __shared__ int total;
    unsigned rank = kg::cluster_rank();
    int i = 32 * blockIdx.x + threadIdx.x;
    int sum = x[i];
    for (int offset = 1; offset < 32; offset *= 2) {
        int other = __shfl_up_sync(0xffffffff, sum, offset);
        if (threadIdx.x >= offset) {
            sum += other;
        }
    }
    if (threadIdx.x == 31) {
        total = sum;
    }
    kg::cluster_sync();
    for (unsigned r = 0; r < rank; ++r) {
        sum += *kg::cluster_peer(&total, r);
    }
    y[i] = sum;
    kg::cluster_sync();
}

// Each thread sends its value to the next block; bytes complete on that block's mbarrier.
KERNEL CLUSTER st_async(const int* __restrict__ x, int* __restrict__ y) {
    __shared__ alignas(16) int box[32];
    __shared__ uint64_t full;
    unsigned to = (kg::cluster_rank() + 1) % 4;
    if (threadIdx.x == 0) {
        kg::mbarrier_init(&full, 1);
        kg::fence_mbarrier_init();
        kg::mbarrier_arrive_expect_tx(&full, sizeof box);
    }
    kg::cluster_sync();
    int i = 32 * blockIdx.x + threadIdx.x;
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], %1, [%2];"
                 ::"r"(kg::cluster_peer_address(&box[threadIdx.x], to)), "r"(x[i]),
                 "r"(kg::cluster_peer_address(&full, to)) : "memory");
    kg::mbarrier_wait_cluster(&full, 0);
    y[i] = box[31 - threadIdx.x];
    kg::cluster_sync();
}

// Parts go around the cluster by bulk copies between the blocks; all are summed up.
KERNEL CLUSTER bulk_ring(const float* __restrict__ x, float* __restrict__ y) {
    __shared__ alignas(16) float box[4][32];
    __shared__ uint64_t full[3];
    unsigned to = (kg::cluster_rank() + 1) % 4;
    int i = 32 * blockIdx.x + threadIdx.x;
    box[0][threadIdx.x] = x[i];
    kg::fence_async_shared();
    if (threadIdx.x == 0) {
        for (int k = 0; k < 3; ++k) {
            kg::mbarrier_init(&full[k], 1);
            kg::mbarrier_arrive_expect_tx(&full[k], sizeof box[0]);
        }
        kg::fence_mbarrier_init();
    }
    kg::cluster_sync();
    float sum = box[0][threadIdx.x];
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x == 0) {
            kg::bulk_to_peer(box[k + 1], box[k], sizeof box[0], &full[k], to);
        }
        kg::mbarrier_wait_cluster(&full[k], 0);
        sum += box[k + 1][threadIdx.x];
    }
    y[i] = sum;
    kg::cluster_sync();
}

// Block 0 waits until the threads of all blocks have put their maxima into it.
KERNEL CLUSTER remote_arrive(const int* __restrict__ x, int* __restrict__ y) {
    __shared__ int most[4][32];
    __shared__ uint64_t done;
    unsigned rank = kg::cluster_rank();
    if (threadIdx.x == 0) {
        kg::mbarrier_init(&done, 4 * 32);
        kg::fence_mbarrier_init();
    }
    kg::cluster_sync();
    int first = 64 * blockIdx.x + threadIdx.x;
    *kg::cluster_peer(&most[rank][threadIdx.x], 0) = max(x[first], x[first + 32]);
    kg::mbarrier_arrive(&done, 0);
    if (rank == 0) {
        kg::mbarrier_wait_cluster(&done, 0);
        int best = most[0][threadIdx.x];
        for (int r = 1; r < 4; ++r) {
            best = max(best, most[r][threadIdx.x]);
        }
        y[32 * (blockIdx.x / 4) + threadIdx.x] = best;
    }
    kg::cluster_sync();
}

// A launch that may begin early; one thread of each warp writes.
KERNEL dependent(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float warps[4];
    kg::dependency_wait();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? fabsf(x[i]) : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) {
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
    }
    if (kg::elect_one()) {
        warps[threadIdx.x / 32] = v;
    }
    __syncthreads();
    kg::launch_dependents();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = fmaxf(fmaxf(warps[0], warps[1]), fmaxf(warps[2], warps[3]));
    }
}
