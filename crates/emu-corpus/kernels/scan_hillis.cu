// Inclusive scan of a row per block (Hillis and Steele), two buffers.
extern "C" __global__ void scan_hillis(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float buf[2][128];
    int tid = threadIdx.x;
    int row = blockIdx.x;
    int src = 0;
    buf[0][tid] = tid < cols ? x[row * cols + tid] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int dst = 1 - src;
        float v = buf[src][tid];
        if (tid >= d) {
            v += buf[src][tid - d];
        }
        buf[dst][tid] = v;
        src = dst;
        __syncthreads();
    }
    if (tid < cols) {
        y[row * cols + tid] = buf[src][tid];
    }
}
