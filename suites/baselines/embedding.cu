// Baseline of embedding: one thread per output element, or per 16 bytes.
/*@plan
w = contiguous(weight)
index = contiguous(indices)
width = max(1, w.shape[1])
per_unit = 16 // w.itemsize
wide = w.align >= 16 and out.align >= 16 and width % per_unit == 0
unit = per_unit if wide else 1
n = out.numel // unit
launch("embedding<Sixteen>" if wide else "embedding<T_out>", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[ptr(w, 0), index, ptr(out, 0), n, width // unit])
@*/

struct alignas(16) Sixteen {
    unsigned int words[4];
};

template <class Unit>
__global__ void __launch_bounds__(256)
embedding(const Unit* __restrict__ weight, const T_indices* __restrict__ index,
          Unit* __restrict__ out, long long n, long long width) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = weight[index[i / width] * width + i % width];
    }
}
