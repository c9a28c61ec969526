// Baseline of dyt: one thread per element.
/*@plan
x_ = contiguous(x)
gamma_ = contiguous(gamma)
beta_ = contiguous(beta) if has(beta) else None
launch("dyt", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[x_, alpha, gamma_, beta_, out, out.numel, max(1, gamma.numel)])
@*/

extern "C" __global__ void __launch_bounds__(256)
dyt(const T_x* __restrict__ x, const T_alpha* __restrict__ alpha, const T_gamma* __restrict__ gamma,
    const T_beta* __restrict__ beta, T_out* __restrict__ out, long long n, long long width) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = i % width;
        const float scaled =
            kg::to_float(gamma[at]) * tanhf(kg::to_float(alpha[0]) * kg::to_float(x[i]));
        out[i] = kg::from_float<T_out>(beta ? scaled + kg::to_float(beta[at]) : scaled);
    }
}
