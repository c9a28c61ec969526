// Baseline of native_batch_norm_backward: 32 lanes per set add up its two means and write the gradient of input, 32 lanes per
// weight those of weight and bias.
/*@plan
g = contiguous(grad_out)
x = contiguous(input)
w = contiguous(weight)
rm = contiguous(running_mean)
rv = contiguous(running_var)
sm = contiguous(save_mean)
ss = contiguous(save_invstd)
outer, channels = x.shape[0], x.shape[1]
inner = prod(x.shape, 2)
together = 0
n_sets, n_gains = channels, channels
if out0.numel > 0:
    launch("of_input", grid=n_sets, block=32, args=[g, x, rm, rv, sm, ss, w, out0, outer, channels, inner, together, train, f32(eps)])
if (out1.numel > 0 or out2.numel > 0) and n_gains > 0:
    launch("of_weight", grid=n_gains, block=32,
           args=[g, x, rm, rv, sm, ss, out1, out2, outer, channels, inner, together,
                 out1.numel > 0, out2.numel > 0, train, f32(eps)])
@*/

__device__ float lane_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

// One block per set.
extern "C" __global__ void of_input(const T_grad_out* __restrict__ grad, const T_input* __restrict__ x,
                                    const T_running_mean* __restrict__ rm,
                                    const T_running_var* __restrict__ rv,
                                    const T_save_mean* __restrict__ sm,
                                    const T_save_invstd* __restrict__ ss,
                                    const T_weight* __restrict__ weight, T_out0* __restrict__ out,
                                    long long outer, long long channels, long long inner,
                                    long long together, bool train, float eps) {
    const long long set = blockIdx.x;
    const long long len = outer * inner;
    const auto at = [=](long long i) { return (i / inner * channels + set) * inner + i % inner; };
    const auto gain = [=](long long i) { return weight == nullptr ? 1.0f : kg::to_float(weight[set]); };
    const float m = (train ? kg::to_float(sm[set]) : kg::to_float(rm[set])), r = (train ? kg::to_float(ss[set]) : 1.0f / sqrtf(kg::to_float(rv[set]) + eps));
    float plain = 0.0f, turned = 0.0f;
    if (train) {
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
        if (train) {
            value = value - plain - (kg::to_float(x[at(i)]) - m) * r * turned;
        }
        out[at(i)] = kg::from_float<T_out0>(value * r);
    }
}

// One block per weight.
extern "C" __global__ void of_weight(const T_grad_out* __restrict__ grad, const T_input* __restrict__ x,
                                     const T_running_mean* __restrict__ rm,
                                    const T_running_var* __restrict__ rv,
                                    const T_save_mean* __restrict__ sm,
                                    const T_save_invstd* __restrict__ ss,
                                     T_out1* __restrict__ of_gain, T_out2* __restrict__ of_bias,
                                     long long outer, long long channels, long long inner,
                                     long long together, bool gains, bool biases, bool train, float eps) {
    const long long own = blockIdx.x;
    float product = 0.0f, total = 0.0f;
    for (long long i = threadIdx.x; i < outer * inner; i += 32) {
        const long long at = (i / inner * channels + own) * inner + i % inner;
        const long long set = own;
        const float g = kg::to_float(grad[at]);
        if (gains) {
            product += g * ((kg::to_float(x[at]) - (train ? kg::to_float(sm[set]) : kg::to_float(rm[set]))) * (train ? kg::to_float(ss[set]) : 1.0f / sqrtf(kg::to_float(rv[set]) + eps)));
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
