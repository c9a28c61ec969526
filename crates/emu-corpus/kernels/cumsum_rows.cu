// Cumulative sum along rows longer than a block: tile by tile with a carry.
extern "C" __global__ void cumsum_rows(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float tile[128];
    __shared__ float carry;
    int tid = threadIdx.x;
    const float* in = x + blockIdx.x * cols;
    float* out = y + blockIdx.x * cols;
    if (tid == 0) carry = 0.0f;
    for (int base = 0; base < cols; base += blockDim.x) {
        int c = base + tid;
        tile[tid] = c < cols ? in[c] : 0.0f;
        __syncthreads();
        for (int d = 1; d < blockDim.x; d <<= 1) {
            float add = 0.0f;
            if (tid >= d) add = tile[tid - d];
            __syncthreads();
            tile[tid] += add;
            __syncthreads();
        }
        if (c < cols) out[c] = tile[tid] + carry;
        __syncthreads();
        if (tid == blockDim.x - 1) carry += tile[tid];
    }
}
