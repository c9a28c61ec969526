// Baseline of native_layer_norm_backward: 32 lanes per set add up its two means and write the gradient of input, 32 lanes per
// weight those of weight and bias.
/*@plan
g = contiguous(grad_out)
x = contiguous(input)
w = contiguous(weight)
m = contiguous(mean)
r = contiguous(rstd)
inner = 1
for extent in normalized_shape:
    inner *= extent
outer = x.numel // max(inner, 1)
channels, together = 1, 1
n_sets, n_gains = outer, inner
if out0.numel > 0:
    launch("of_input", grid=n_sets, block=32, args=[g, x, m, r, w, out0, outer, channels, inner, together])
if (out1.numel > 0 or out2.numel > 0) and n_gains > 0:
    launch("of_weight", grid=n_gains, block=32,
           args=[g, x, m, r, out1, out2, outer, channels, inner, together,
                 out1.numel > 0, out2.numel > 0])
@*/

__device__ float lane_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

// One block per set.
extern "C" __global__ void of_input(const T_grad_out* __restrict__ grad, const T_input* __restrict__ x,
                                    const T_mean* __restrict__ mean, const T_rstd* __restrict__ rstd,
                                    const T_weight* __restrict__ weight, T_out0* __restrict__ out,
                                    long long outer, long long channels, long long inner,
                                    long long together) {
    const long long set = blockIdx.x;
    const long long len = together * inner;
    const auto at = [=](long long i) { return set * len + i; };
    const auto gain = [=](long long i) { return weight == nullptr ? 1.0f : kg::to_float(weight[i]); };
    const float m = kg::to_float(mean[set]), r = kg::to_float(rstd[set]);
    float plain = 0.0f, turned = 0.0f;
    {
        for (long long i = threadIdx.x; i < len; i += 32) {
            const float weighted = kg::to_float(grad[at(i)]) * gain(i);
            plain += weighted;
            turned += weighted * ((kg::to_float(x[at(i)]) - m) * r);
        }
        plain = lane_sum(plain) / static_cast<float>(len);
        turned = lane_sum(turned) / static_cast<float>(len);
    }
    for (long long i = threadIdx.x; i < len; i += 32) {
        float value = kg::to_float(grad[at(i)]) * gain(i);
        {
            value = value - plain - (kg::to_float(x[at(i)]) - m) * r * turned;
        }
        out[at(i)] = kg::from_float<T_out0>(value * r);
    }
}

// One block per weight.
extern "C" __global__ void of_weight(const T_grad_out* __restrict__ grad, const T_input* __restrict__ x,
                                     const T_mean* __restrict__ mean, const T_rstd* __restrict__ rstd,
                                     T_out1* __restrict__ of_gain, T_out2* __restrict__ of_bias,
                                     long long outer, long long channels, long long inner,
                                     long long together, bool gains, bool biases) {
    const long long own = blockIdx.x;
    float product = 0.0f, total = 0.0f;
    for (long long i = threadIdx.x; i < outer; i += 32) {
        const long long at = i * inner + own;
        const long long set = i;
        const float g = kg::to_float(grad[at]);
        if (gains) {
            product += g * ((kg::to_float(x[at]) - kg::to_float(mean[set])) * kg::to_float(rstd[set]));
        }
        total += g;
    }
    product = lane_sum(product);
    total = lane_sum(total);
    if (threadIdx.x == 0 && gains) {
        of_gain[own] = kg::from_float<T_out1>(product);
    }
    if (threadIdx.x == 0 && biases) {
        of_bias[own] = kg::from_float<T_out2>(total);
    }
}
