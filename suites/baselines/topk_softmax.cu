// Baseline of topk_softmax: one thread per row picks the largest logit that is left, k times.
/*@plan
x = contiguous(gating)
c = x.shape[-1]
n = x.numel // max(1, c)
launch("topk_softmax", grid=min(cdiv(n, 128), 16 * sm_count), block=128,
       args=[x, out0, out1, n, c, k, renormalize])
@*/

extern "C" __global__ void __launch_bounds__(128)
topk_softmax(const T_gating* __restrict__ x, float* __restrict__ weights,
             long long* __restrict__ indices, long long n, int c, int k, bool renormalize) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const T_gating* row = x + i * c;
        float largest = -INFINITY;
        for (int j = 0; j < c; ++j) {
            largest = fmaxf(largest, kg::to_float(row[j]));
        }
        // NaN, which the maximum drops, comes back through the sum.
        float total = 0.0f;
        for (int j = 0; j < c; ++j) {
            total += expf(kg::to_float(row[j]) - largest);
        }
        float sum = 0.0f;
        for (int rank = 0; rank < k; ++rank) {
            int best = -1;
            for (int j = 0; j < c; ++j) {
                bool taken = false;
                for (int earlier = 0; earlier < rank; ++earlier) {
                    taken = taken || indices[i * k + earlier] == j;
                }
                const bool better =
                    best < 0 || kg::to_float(row[j]) > kg::to_float(row[best]);
                best = !taken && better ? j : best;
            }
            const float p = expf(kg::to_float(row[best]) - largest) / total;
            indices[i * k + rank] = best;
            weights[i * k + rank] = p;
            sum += p;
        }
        for (int rank = 0; renormalize && rank < k; ++rank) {
            weights[i * k + rank] /= sum;
        }
    }
}
