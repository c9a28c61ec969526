// Cross entropy with label smoothing, one warp per sample; the last warp to finish makes the mean.
extern "C" __global__ void xent_smooth(const float* __restrict__ logits, const int* __restrict__ target, float* loss, float* mean,
                                       unsigned int* finished, int batch, int classes, float smoothing) {
    int sample = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (sample >= batch) return;
    const float* row = logits + sample * classes;
    float top = -INFINITY;
    for (int c = lane; c < classes; c += 32) top = fmaxf(top, row[c]);
    for (int o = 16; o > 0; o >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, o));
    float sum = 0.0f;
    float all = 0.0f;
    for (int c = lane; c < classes; c += 32) {
        sum += expf(row[c] - top);
        all += row[c];
    }
    for (int o = 16; o > 0; o >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, o);
        all += __shfl_xor_sync(0xffffffff, all, o);
    }
    if (lane == 0) {
        float lse = logf(sum) + top;
        float hard = lse - row[target[sample]];
        float soft = lse - all / classes;
        loss[sample] = (1.0f - smoothing) * hard + smoothing * soft;
        __threadfence();
        unsigned int before = atomicAdd(finished, 1u);
        if (before == batch - 1) {
            __threadfence();
            float total = 0.0f;
            for (int s = 0; s < batch; ++s) {
                total += loss[s];
            }
            *mean = total / batch;
        }
    }
}
