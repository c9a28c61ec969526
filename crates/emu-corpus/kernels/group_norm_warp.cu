// Group norm over [N, C, HW] with a block per sample and group, two values per warp reduction.
extern "C" __global__ void group_norm(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b, float* __restrict__ y,
                                      int C, int HW, int groups, float eps) {
    __shared__ float2 part[4];
    __shared__ float2 stats;
    int per = C / groups;
    int g = blockIdx.x % groups;
    int count = per * HW;
    size_t base = (size_t)blockIdx.x * count;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float s = 0.0f, q = 0.0f;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        float v = x[base + i];
        s += v;
        q += v * v;
    }
    for (int o = 16; o > 0; o >>= 1) {
        s += __shfl_down_sync(0xffffffff, s, o);
        q += __shfl_down_sync(0xffffffff, q, o);
    }
    if (lane == 0) {
        part[warp] = make_float2(s, q);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float2 t = part[0];
        for (int k = 1; k < blockDim.x / 32; ++k) {
            t.x += part[k].x;
            t.y += part[k].y;
        }
        float mean = t.x / count;
        stats = make_float2(mean, rsqrtf(t.y / count - mean * mean + eps));
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        int c = g * per + i / HW;
        y[base + i] = (x[base + i] - stats.x) * stats.y * w[c] + b[c];
    }
}
