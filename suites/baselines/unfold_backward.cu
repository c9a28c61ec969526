// Baseline of unfold_backward: one thread per output element adds the windows that hold it.
/*@plan
g = contiguous(grad_in)
n = out.numel
d = dim if dim >= 0 else dim + out.ndim
inner = 1
for j in range(out.ndim):
    if j > d:
        inner *= out.shape[j]
launch("unfold_backward", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[g, out, n, out.shape[d], max(1, inner), g.shape[d], size, step])
@*/

extern "C" __global__ void __launch_bounds__(256)
unfold_backward(const T_grad_in* __restrict__ g, T_out* __restrict__ out, long long n, long long extent,
                long long inner, long long windows, long long size, long long by) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = i / inner % extent;
        const long long outer = i / inner / extent;
        const long long first = at < size ? 0 : (at - size) / by + 1;
        float sum = 0.0f;
        for (long long w = first; w < windows && w * by <= at; ++w) {
            sum += kg::to_float(g[((outer * windows + w) * inner + i % inner) * size + at - w * by]);
        }
        out[i] = kg::from_float<T_out>(sum);
    }
}
