// Baseline of batch_norm_inference: one thread per element; another launch writes the statistics.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
rm = contiguous(running_mean)
rv = contiguous(running_var)
inner = prod(x.shape, 2)
launch("batch_norm", grid=cdiv(x.numel, 128), block=128,
       args=[x, w, b, rm, rv, out0, x.numel, x.shape[1], inner, f32(eps)])
launch("statistics", grid=cdiv(x.shape[1], 128), block=128,
       args=[rm, rv, out1, out2, x.shape[1], f32(eps)])
@*/

// A normalised element with weight and bias, where there are some.
__device__ float weighted(float normal, const T_weight* __restrict__ weight,
                          const T_bias* __restrict__ bias, long long at) {
    if (weight != nullptr) {
        normal *= kg::to_float(weight[at]);
    }
    if (bias != nullptr) {
        normal += kg::to_float(bias[at]);
    }
    return normal;
}

extern "C" __global__ void batch_norm(const T_input* __restrict__ x,
                                      const T_weight* __restrict__ weight,
                                      const T_bias* __restrict__ bias,
                                      const T_running_mean* __restrict__ running_mean,
                                      const T_running_var* __restrict__ running_var,
                                      T_out0* __restrict__ out, long long n, long long channels,
                                      long long inner, float eps) {
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= n) {
        return;
    }
    const long long channel = at / inner % channels;
    const float scale = 1.0f / sqrtf(kg::to_float(running_var[channel]) + eps);
    const float normal = (kg::to_float(x[at]) - kg::to_float(running_mean[channel])) * scale;
    out[at] = kg::from_float<T_out0>(weighted(normal, weight, bias, channel));
}

extern "C" __global__ void statistics(const T_running_mean* __restrict__ running_mean,
                                      const T_running_var* __restrict__ running_var,
                                      T_out1* __restrict__ means, T_out2* __restrict__ scales,
                                      long long channels, float eps) {
    const long long channel = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (channel < channels) {
        means[channel] = kg::from_float<T_out1>(kg::to_float(running_mean[channel]));
        scales[channel] = kg::from_float<T_out2>(1.0f / sqrtf(kg::to_float(running_var[channel]) + eps));
    }
}
