// Baseline of select_backward: one thread per output element, which copies or writes 0.
/*@plan
g = contiguous(grad_output)
d = dim if dim >= 0 else dim + len(input_sizes)
extent = input_sizes[d]
inner = 1
for i in range(len(input_sizes)):
    if i > d:
        inner *= input_sizes[i]
place = index if index >= 0 else index + extent
n = out.numel
launch("placed", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[g, out, n, max(1, extent), max(1, inner), place])
@*/

extern "C" __global__ void __launch_bounds__(256)
placed(const T_grad_output* __restrict__ grad, T_out* __restrict__ out, long long n, long long extent,
       long long inner, long long place) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const long long own = i / inner % extent;
        T_out value{};
        if (own == place) {
            value = grad[i / inner / extent * inner + i % inner];
        }
        out[i] = value;
    }
}
