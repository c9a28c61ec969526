// Baseline of embedding_dense_backward: one thread per output element looks for the indices that name its
// row, so that sums are f32 and need no atomics.
/*@plan
g = contiguous(grad_output)
places = contiguous(indices)
n = out.numel
launch("rows", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[g, places, out, n, places.numel, max(1, out.shape[1]), padding_idx, scale_grad_by_freq])
@*/

extern "C" __global__ void __launch_bounds__(256)
rows(const T_grad_output* __restrict__ grad, const T_indices* __restrict__ indices,
     T_out* __restrict__ out, long long n, long long count, long long width, long long padding,
     bool scaled) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const long long row = i / width;
        float sum = 0.0f;
        long long found = 0;
        for (long long k = 0; k < count; ++k) {
            if (indices[k] == row && row != padding) {
                sum += kg::to_float(grad[k * width + i % width]);
                ++found;
            }
        }
        out[i] = kg::from_float<T_out>(scaled && found > 0 ? sum / static_cast<float>(found) : sum);
    }
}
