// Baseline of glu: one thread per output element.
/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
inner = prod(x.shape, d + 1)
n = out.numel
launch("glu", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, max(1, inner * (x.shape[d] // 2))])
@*/

extern "C" __global__ void __launch_bounds__(256)
glu(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long half) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = i / half * 2 * half + i % half;
        const float gate = 1.0f / (1.0f + expf(-kg::to_float(x[at + half])));
        out[i] = kg::from_float<T_out>(kg::to_float(x[at]) * gate);
    }
}
