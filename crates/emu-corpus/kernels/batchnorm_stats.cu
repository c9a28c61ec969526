// Mean and variance per channel of an NCHW tensor; the running mean is updated.
extern "C" __global__ void batchnorm_stats(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ var,
                                           float* __restrict__ running, int N, int C, int HW, float momentum) {
    __shared__ float s_sum[128];
    __shared__ float s_sq[128];
    int c = blockIdx.x;
    int tid = threadIdx.x;
    float sum = 0.0f;
    float sq = 0.0f;
    for (int i = tid; i < N * HW; i += blockDim.x) {
        int n = i / HW;
        int p = i % HW;
        float v = x[(n * C + c) * HW + p];
        sum += v;
        sq += v * v;
    }
    s_sum[tid] = sum;
    s_sq[tid] = sq;
    __syncthreads();
    for (int o = blockDim.x / 2; o > 0; o >>= 1) {
        if (tid < o) {
            s_sum[tid] += s_sum[tid + o];
            s_sq[tid] += s_sq[tid + o];
        }
        __syncthreads();
    }
    if (tid == 0) {
        float count = (float)(N * HW);
        float m = s_sum[0] / count;
        mean[c] = m;
        var[c] = s_sq[0] / count - m * m;
        running[c] = (1.0f - momentum) * running[c] + momentum * m;
    }
}
