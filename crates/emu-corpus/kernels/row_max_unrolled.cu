// Row maximum: tree down to one warp, then the last warp on shared memory with __syncwarp.
extern "C" __global__ void row_max(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float s[128];
    const int tid = threadIdx.x;
    const float* row = x + (size_t)blockIdx.x * cols;
    float m = -INFINITY;
    for (int c = tid; c < cols; c += blockDim.x) {
        m = fmaxf(m, row[c]);
    }
    s[tid] = m;
    __syncthreads();
    if (tid < 64) s[tid] = fmaxf(s[tid], s[tid + 64]);
    __syncthreads();
    if (tid < 32) {
        float v = fmaxf(s[tid], s[tid + 32]);
        s[tid] = v;
        __syncwarp();
        #pragma unroll
        for (int o = 16; o > 0; o >>= 1) {
            v = fmaxf(v, s[(tid + o) & 31]);
            __syncwarp();
            s[tid] = v;
            __syncwarp();
        }
        if (tid == 0) y[blockIdx.x] = s[0];
    }
}
