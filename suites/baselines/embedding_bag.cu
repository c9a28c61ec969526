// Baseline of embedding_bag: one thread per output element goes through the rows of its bag.
/*@plan
w = contiguous(weight)
index = contiguous(indices)
begins = contiguous(offsets)
factors = contiguous(per_sample_weights)
n = out.numel
launch("embedding_bag", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[w, index, begins, factors, out, n, max(1, w.shape[1]), begins.numel, index.numel, mode,
             padding_idx])
@*/

extern "C" __global__ void __launch_bounds__(256)
embedding_bag(const T_weight* __restrict__ weight, const T_indices* __restrict__ index,
              const T_offsets* __restrict__ offsets,
              const T_per_sample_weights* __restrict__ factors, T_out* __restrict__ out,
              long long n, long long width, long long n_offsets, long long n_indices, int mode,
              long long padding) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long bag = i / width;
        const long long end = bag + 1 < n_offsets ? offsets[bag + 1] : n_indices;
        float total = 0.0f;
        long long rows = 0;
        for (long long k = offsets[bag]; k < end; ++k) {
            const long long row = index[k];
            if (row == padding) {
                continue;
            }
            const float value = kg::to_float(weight[row * width + i % width]);
            if (mode == 2) {
                total = rows == 0 || value > total ? value : total;
            } else {
                total += factors == nullptr ? value : value * kg::to_float(factors[k]);
            }
            ++rows;
        }
        out[i] = kg::from_float<T_out>(mode == 1 && rows > 0 ? total / rows : total);
    }
}
