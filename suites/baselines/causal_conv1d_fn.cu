// Baseline of causal_conv1d_fn: one thread per element.
/*@plan
x_ = contiguous(x)
w = contiguous(weight)
b = contiguous(bias) if has(bias) else None
launch("causal_conv1d_fn", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[x_, w, b, out, out.numel, max(1, x.shape[1]), max(1, x.shape[2]), weight.shape[1],
             has(activation)])
@*/

extern "C" __global__ void __launch_bounds__(256)
causal_conv1d_fn(const T_x* __restrict__ x, const T_weight* __restrict__ weight,
                 const T_bias* __restrict__ bias, T_out* __restrict__ out, long long n,
                 long long channels, long long length, int taps, bool activates) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = i % length;
        const long long channel = i / length % channels;
        float sum = 0.0f;
        for (int tap = 0; tap < taps; ++tap) {
            const long long from = at - taps + 1 + tap;
            const float value = from >= 0 ? kg::to_float(x[i - at + from]) : 0.0f;
            sum = fmaf(value, kg::to_float(weight[channel * taps + tap]), sum);
        }
        if (bias) {
            sum += kg::to_float(bias[channel]);
        }
        out[i] = kg::from_float<T_out>(activates ? sum / (1.0f + expf(-sum)) : sum);
    }
}
