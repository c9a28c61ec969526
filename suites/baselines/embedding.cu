// Baseline of embedding: one thread per output element.
/*@plan
w = contiguous(weight)
index = contiguous(indices)
n = out.numel
launch("embedding", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[w, index, out, n, max(1, w.shape[1])])
@*/

extern "C" __global__ void __launch_bounds__(256)
embedding(const T_weight* __restrict__ weight, const T_indices* __restrict__ index,
          T_out* __restrict__ out, long long n, long long width) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = weight[index[i / width] * width + i % width];
    }
}
