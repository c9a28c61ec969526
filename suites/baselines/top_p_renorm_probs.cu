// Baseline of top_p_renorm_probs: a block per row; an element is kept where all larger ones come to less than p.
/*@plan
x = contiguous(probs)
launch("top_p_renorm_probs", grid=x.shape[0], block=256, args=[x, out, x.shape[1], f32(top_p)])
@*/

extern "C" __global__ void __launch_bounds__(256)
top_p_renorm_probs(const float* __restrict__ x, float* __restrict__ out, int n, float p) {
    __shared__ float total[256];
    const float* row = x + static_cast<long long>(blockIdx.x) * n;
    float* result = out + static_cast<long long>(blockIdx.x) * n;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) {
        float larger = 0.0f;
        for (int j = 0; j < n; ++j) {
            larger += row[j] > row[i] ? row[j] : 0.0f;
        }
        result[i] = larger < p ? row[i] : 0.0f;
        sum += result[i];
    }
    total[threadIdx.x] = sum;
    __syncthreads();
    for (int offset = 128; offset > 0; offset /= 2) {
        if (threadIdx.x < offset) {
            total[threadIdx.x] += total[threadIdx.x + offset];
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += 256) {
        result[i] /= total[0] == 0.0f ? 1.0f : total[0];
    }
}
