// Softmax with one warp per row, maximum and sum in one pass.
extern "C" __global__ void softmax_online(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x & 31;
    if (row >= rows) return;
    const float* in = x + row * cols;
    float* out = y + row * cols;
    float m = -INFINITY;
    float d = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        float v = in[c];
        float next = fmaxf(m, v);
        d = d * __expf(m - next) + __expf(v - next);
        m = next;
    }
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        float other_m = __shfl_xor_sync(0xffffffffu, m, o);
        float other_d = __shfl_xor_sync(0xffffffffu, d, o);
        float next = fmaxf(m, other_m);
        d = d * __expf(m - next) + other_d * __expf(other_m - next);
        m = next;
    }
    float inv = 1.0f / d;
    for (int c = lane; c < cols; c += 32) {
        out[c] = __expf(in[c] - m) * inv;
    }
}
