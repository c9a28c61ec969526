// Baseline of top_k_renorm_probs: a block per row; an element is kept where fewer than k are larger.
/*@plan
x = contiguous(probs)
launch("top_k_renorm_probs", grid=x.shape[0], block=256, args=[x, out, x.shape[1], top_k])
@*/

extern "C" __global__ void __launch_bounds__(256)
top_k_renorm_probs(const float* __restrict__ x, float* __restrict__ out, int n, int k) {
    __shared__ float total[256];
    const float* row = x + static_cast<long long>(blockIdx.x) * n;
    float* result = out + static_cast<long long>(blockIdx.x) * n;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) {
        int larger = 0;
        for (int j = 0; j < n; ++j) {
            larger += row[j] > row[i];
        }
        result[i] = larger < k ? row[i] : 0.0f;
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
