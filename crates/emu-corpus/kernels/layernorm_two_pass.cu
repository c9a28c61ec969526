// Layer norm of a row per block; the row is kept in shared memory between the passes.
__device__ float block_sum(float v, float* scratch) {
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    for (int o = 16; o > 0; o /= 2) {
        v += __shfl_xor_sync(0xffffffff, v, o);
    }
    __syncthreads();  // the sums of the call before may still be read
    if (lane == 0) scratch[warp] = v;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) {
        total += scratch[w];
    }
    return total;
}

extern "C" __global__ void layernorm_two_pass(const float* __restrict__ x, const float* __restrict__ gamma,
                                              const float* __restrict__ beta, float* __restrict__ y,
                                              int hidden, float eps) {
    extern __shared__ float row[];
    __shared__ float scratch[8];
    const float* in = x + blockIdx.x * hidden;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        row[i] = in[i];
        sum += in[i];
    }
    float mean = block_sum(sum, scratch) / hidden;
    float var = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        float d = row[i] - mean;
        var += d * d;
    }
    float rstd = rsqrtf(block_sum(var, scratch) / hidden + eps);
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        y[blockIdx.x * hidden + i] = (row[i] - mean) * rstd * gamma[i] + beta[i];
    }
}
