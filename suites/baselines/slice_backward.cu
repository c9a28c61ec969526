// Baseline of slice_backward: one thread per output element, which copies or writes 0.
/*@plan
g = contiguous(grad_output)
d = dim if dim >= 0 else dim + len(input_sizes)
extent = input_sizes[d]
inner = 1
for i in range(len(input_sizes)):
    if i > d:
        inner *= input_sizes[i]
start_ = min(max(start if start >= 0 else start + extent, 0), extent)
end_ = min(max(end if end >= 0 else end + extent, start_), extent)
n = out.numel
launch("placed", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[g, out, n, max(1, extent), max(1, inner), start_, end_, step, max(1, g.shape[d])])
@*/

extern "C" __global__ void __launch_bounds__(256)
placed(const T_grad_output* __restrict__ grad, T_out* __restrict__ out, long long n, long long extent,
       long long inner, long long start, long long end, long long step, long long places) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const long long own = i / inner % extent;
        T_out value{};
        if (own >= start && own < end && (own - start) % step == 0) {
            value = grad[(i / inner / extent * places + (own - start) / step) * inner + i % inner];
        }
        out[i] = value;
    }
}
