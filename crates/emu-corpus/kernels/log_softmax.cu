// Log-softmax of a row per block of three warps: shuffles within warps, shared memory between.
extern "C" __global__ void log_softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float part[32];
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    int warps = blockDim.x >> 5;
    const float* in = x + blockIdx.x * cols;
    float* out = y + blockIdx.x * cols;

    float m = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, in[c]);
    for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
    if (lane == 0) part[warp] = m;
    __syncthreads();
    for (int w = 0; w < warps; ++w) m = fmaxf(m, part[w]);
    __syncthreads();

    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(in[c] - m);
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < warps; ++w) total += part[w];

    float shift = m + logf(total);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        out[c] = in[c] - shift;
    }
}
