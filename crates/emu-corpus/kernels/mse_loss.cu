// Mean squared error with its gradient; block sums are added to the loss atomically.
extern "C" __global__ void mse_loss(const float* __restrict__ pred, const float* __restrict__ target, float* __restrict__ loss,
                                    float* __restrict__ grad, int n) {
    __shared__ float warp_sums[8];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float d = pred[i] - target[i];
        grad[i] = 2.0f * d / n;
        sum += d * d;
    }
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffff, sum, o);
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int w = 0; w < blockDim.x / 32; ++w) {
            total += warp_sums[w];
        }
        atomicAdd(loss, total / n);
    }
}
