// Softmax in three passes, one block per row, trees in dynamic shared memory.
extern "C" __global__ void softmax_block(const float* __restrict__ x, float* __restrict__ y, int cols) {
    extern __shared__ float cache[];
    int tid = threadIdx.x;
    const float* row = x + blockIdx.x * cols;
    float* out = y + blockIdx.x * cols;

    float local = -INFINITY;
    for (int c = tid; c < cols; c += blockDim.x) {
        local = fmaxf(local, row[c]);
    }
    cache[tid] = local;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) cache[tid] = fmaxf(cache[tid], cache[tid + s]);
        __syncthreads();
    }
    float top = cache[0];
    __syncthreads();

    float sum = 0.0f;
    for (int c = tid; c < cols; c += blockDim.x) {
        sum += expf(row[c] - top);
    }
    cache[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) cache[tid] += cache[tid + s];
        __syncthreads();
    }
    float total = cache[0];

    for (int c = tid; c < cols; c += blockDim.x) {
        out[c] = expf(row[c] - top) / total;
    }
}
