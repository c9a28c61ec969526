// Baseline of glu_backward: one thread per pair of output elements.
/*@plan
x = contiguous(self)
g = contiguous(grad_output)
d = dim if dim >= 0 else dim + x.ndim
inner = 1
for i in range(x.ndim):
    if i > d:
        inner *= x.shape[i]
launch("glu_backward", grid=min(cdiv(g.numel, 256), 16 * sm_count), block=256,
       args=[g, x, out, g.numel, max(1, inner * (x.shape[d] // 2))])
@*/

extern "C" __global__ void __launch_bounds__(256)
glu_backward(const T_grad_output* __restrict__ g, const T_self* __restrict__ x, T_out* __restrict__ out,
             long long n, long long half) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = i / half * 2 * half + i % half;
        const float grad = kg::to_float(g[i]);
        const float gate = 1.0f / (1.0f + expf(-kg::to_float(x[at + half])));
        out[at] = kg::from_float<T_out>(grad * gate);
        out[at + half] = kg::from_float<T_out>(grad * kg::to_float(x[at]) * gate * (1.0f - gate));
    }
}
