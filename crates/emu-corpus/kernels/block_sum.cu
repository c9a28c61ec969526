// Tree reduction in shared memory, two elements per thread on the way in.
extern "C" __global__ void block_sum(const float* __restrict__ x, float* __restrict__ partial, int n) {
    __shared__ float sdata[256];
    int tid = threadIdx.x;
    int i = blockIdx.x * (blockDim.x * 2) + tid;
    float sum = 0.0f;
    if (i < n) sum += x[i];
    int j = i + blockDim.x;
    if (j < n) sum += x[j];
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        partial[blockIdx.x] = sdata[0];
    }
}
