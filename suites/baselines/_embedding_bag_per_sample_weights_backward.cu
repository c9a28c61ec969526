// Baseline of _embedding_bag_per_sample_weights_backward: a thread per index adds the products of two rows.
/*@plan
g = contiguous(grad)
table = contiguous(weight)
places = contiguous(indices)
bags = contiguous(offset2bag)
launch("products", grid=cdiv(out.numel, 256), block=256,
       args=[g, table, places, bags, out, out.numel, table.shape[1], padding_idx])
@*/

extern "C" __global__ void __launch_bounds__(256)
products(const T_grad* __restrict__ grad, const T_weight* __restrict__ table,
         const T_indices* __restrict__ indices, const T_offset2bag* __restrict__ bags,
         T_out* __restrict__ out, long long n, long long width, long long padding) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const long long row = indices[i];
    float sum = 0.0f;
    if (row != padding) {
        const T_grad* left = grad + bags[i] * width;
        const T_weight* right = table + row * width;
        for (long long j = 0; j < width; ++j) {
            sum += kg::to_float(left[j]) * kg::to_float(right[j]);
        }
    }
    out[i] = kg::from_float<T_out>(sum);
}
