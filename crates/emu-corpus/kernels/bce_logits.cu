// Binary cross entropy from logits, stable, with class weight: loss per element and sum per block.
extern "C" __global__ void bce_logits(const float* __restrict__ logit, const unsigned char* __restrict__ label, float* __restrict__ loss,
                                      float* __restrict__ block_loss, float pos_weight, int n) {
    extern __shared__ float sums[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float l = 0.0f;
    if (i < n) {
        float x = logit[i];
        float soft = log1pf(expf(-fabsf(x)));
        if (label[i]) {
            l = pos_weight * (fmaxf(-x, 0.0f) + soft);
        } else {
            l = fmaxf(x, 0.0f) + soft;
        }
        loss[i] = l;
    }
    sums[threadIdx.x] = l;
    for (unsigned int stride = blockDim.x >> 1; stride > 0; stride >>= 1) {
        __syncthreads();
        if (threadIdx.x < stride) {
            sums[threadIdx.x] += sums[threadIdx.x + stride];
        }
    }
    if (threadIdx.x == 0) {
        block_loss[blockIdx.x] = sums[0];
    }
}
