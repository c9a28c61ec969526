#include <cuda_pipeline.h>

#define TILE 256

// y[row] = sqrt(mean(x[row]^2)): tiles of a row come through two buffers. 64 threads per row; cols is
// a multiple of 4.
extern "C" __global__ void row_rms_pipeline(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ alignas(16) float buffer[2][TILE];
    __shared__ float partial[2];
    const float* row = x + (size_t)blockIdx.x * cols;
    int tid = threadIdx.x;
    int tiles = (cols + TILE - 1) / TILE;
    float sum = 0.0f;
    if (tid * 4 < cols) {
        __pipeline_memcpy_async(&buffer[0][tid * 4], row + tid * 4, 16);
    }
    __pipeline_commit();
    for (int t = 0; t < tiles; ++t) {
        int next = (t + 1) * TILE + tid * 4;
        if (next < cols) {
            __pipeline_memcpy_async(&buffer[(t + 1) % 2][tid * 4], row + next, 16);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        int count = min(TILE, cols - t * TILE);
        for (int i = tid; i < count; i += 64) {
            float v = buffer[t % 2][i];
            sum = fmaf(v, v, sum);
        }
        __syncthreads();
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (tid % 32 == 0) {
        partial[tid / 32] = sum;
    }
    __syncthreads();
    if (tid == 0) {
        y[blockIdx.x] = sqrtf((partial[0] + partial[1]) / cols);
    }
}
