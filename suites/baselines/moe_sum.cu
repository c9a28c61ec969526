// Baseline of moe_sum: a thread per element of the result.
/*@plan
x = contiguous(input)
launch("moe_sum", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[x, out, out.numel, x.shape[1], max(1, x.shape[2])])
@*/

extern "C" __global__ void __launch_bounds__(256)
moe_sum(const T_input* __restrict__ x, T_out* __restrict__ out, long long n, long long experts,
        long long width) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const T_input* token = x + i / width * experts * width + i % width;
        float sum = 0.0f;
        for (long long expert = 0; expert < experts; ++expert) {
            sum += kg::to_float(token[expert * width]);
        }
        out[i] = kg::from_float<T_out>(sum);
    }
}
