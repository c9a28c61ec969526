// Baseline of selective_scan_fn: a thread per channel; its states are in the last output.
/*@plan
u_ = contiguous(u)
delta_ = contiguous(delta)
a = contiguous(A)
b = contiguous(B)
c = contiguous(C)
d = contiguous(D) if has(D) else None
z_ = contiguous(z) if has(z) else None
bias = contiguous(delta_bias) if has(delta_bias) else None
batch, channels, length = u.shape
launch("selective_scan_fn", grid=cdiv(batch * channels, 64), block=64,
       args=[u_, delta_, a, b, c, d, z_, bias, out0, out1, batch * channels, max(1, channels), length,
             A.shape[1], B.shape[1], delta_softplus])
@*/

extern "C" __global__ void __launch_bounds__(64)
selective_scan_fn(const T_u* __restrict__ u, const T_delta* __restrict__ delta,
                  const float* __restrict__ a, const T_B* __restrict__ b,
                  const T_C* __restrict__ c, const float* __restrict__ d,
                  const T_z* __restrict__ z, const float* __restrict__ bias,
                  T_out0* __restrict__ out, float* __restrict__ last, long long rows,
                  long long channels, long long length, int states, int groups, bool soft) {
    const long long row = static_cast<long long>(blockIdx.x) * 64 + threadIdx.x;
    if (row >= rows) {
        return;
    }
    const long long channel = row % channels;
    const long long group = row / channels * groups + channel / (channels / groups);
    float* state = last + row * states;
    for (int i = 0; i < states; ++i) {
        state[i] = 0.0f;
    }
    for (long long at = 0; at < length; ++at) {
        const float x = kg::to_float(u[row * length + at]);
        float step = kg::to_float(delta[row * length + at]);
        step = bias ? step + bias[channel] : step;
        if (soft) {
            step = step > 0.0f ? step + log1pf(expf(-step)) : log1pf(expf(step));
        }
        float sum = 0.0f;
        for (int i = 0; i < states; ++i) {
            const long long place = (group * states + i) * length + at;
            const float decay = expf(step * a[channel * states + i]);
            state[i] = decay * state[i] + step * kg::to_float(b[place]) * x;
            sum += state[i] * kg::to_float(c[place]);
        }
        sum = d ? sum + d[channel] * x : sum;
        if (z) {
            const float gate = kg::to_float(z[row * length + at]);
            sum *= gate / (1.0f + expf(-gate));
        }
        out[row * length + at] = kg::from_float<T_out0>(sum);
    }
}
