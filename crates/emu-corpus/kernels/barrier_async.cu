#include <cuda/barrier>

#define TILE 64

// y = x reversed within tiles of 64 floats; a cuda::barrier says when the asynchronous copy is there: 32 threads copy two floats each; n is even.
extern "C" __global__ void barrier_reverse(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ alignas(16) float tile[TILE];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    int tid = threadIdx.x;
    int base = blockIdx.x * TILE;
    int count = min(TILE, n - base);
    if (tid == 0) {
        init(&ready, blockDim.x);
    }
    __syncthreads();
    if (tid * 2 < count) {
        cuda::memcpy_async(tile + tid * 2, x + base + tid * 2, cuda::aligned_size_t<8>(8), ready);
    }
    ready.arrive_and_wait();
    for (int i = tid; i < count; i += blockDim.x) {
        y[base + i] = tile[count - 1 - i];
    }
}
