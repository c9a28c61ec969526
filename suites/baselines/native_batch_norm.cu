// Baseline of native_batch_norm: in training mean, then variance from centred values, then the
// channel and the running statistics; otherwise those are used.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
rm = contiguous(running_mean)
rv = contiguous(running_var)
samples, channels = x.shape[0], x.shape[1]
inner = prod(x.shape, 2)
kept_mean = out[3] if has(rm) else None
kept_var = out[4] if has(rm) else None
launch("batch_norm", grid=channels, block=(32, 1),
       args=[x, w, b, rm, rv, out0, out1, out2, kept_mean, kept_var, samples, channels, inner,
             training, f32(momentum), f32(eps)])
@*/

// Sums over the lanes of a slice.
__device__ float lane_sum(float value) {
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

// Mean of the elements of a set and 1 / sqrt(var + eps), by all lanes; `at` says where element i
// is.
template <class At>
__device__ void statistics(const T_input* __restrict__ x, const At& at, long long len, float eps,
                           float& mean, float& var, float& scale) {
    float sum = 0.0f;
    for (long long i = threadIdx.x; i < len; i += blockDim.x) {
        sum += kg::to_float(x[at(i)]);
    }
    mean = lane_sum(sum) / static_cast<float>(len);
    float squares = 0.0f;
    for (long long i = threadIdx.x; i < len; i += blockDim.x) {
        const float distance = kg::to_float(x[at(i)]) - mean;
        squares += distance * distance;
    }
    var = lane_sum(squares) / static_cast<float>(len);
    scale = 1.0f / sqrtf(var + eps);
}

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

// A set is a channel of all samples; the updated statistics have the type of the old ones.
extern "C" __global__ void batch_norm(
    const T_input* __restrict__ x, const T_weight* __restrict__ weight,
    const T_bias* __restrict__ bias, const T_running_mean* __restrict__ running_mean,
    const T_running_var* __restrict__ running_var, T_out0* __restrict__ out,
    T_out1* __restrict__ means, T_out2* __restrict__ scales, T_running_mean* __restrict__ kept_mean,
    T_running_var* __restrict__ kept_var, long long samples, long long channels, long long inner,
    bool training, float momentum, float eps) {
    const long long channel = blockIdx.x;
    const long long len = samples * inner;
    const auto at = [=](long long i) {
        return (i / inner * channels + channel) * inner + i % inner;
    };
    float mean, var, scale;
    if (training) {
        statistics(x, at, len, eps, mean, var, scale);
    } else {
        mean = kg::to_float(running_mean[channel]);
        var = kg::to_float(running_var[channel]);
        scale = 1.0f / sqrtf(var + eps);
    }
    for (long long i = threadIdx.x; i < len; i += blockDim.x) {
        const float normal = (kg::to_float(x[at(i)]) - mean) * scale;
        out[at(i)] = kg::from_float<T_out0>(weighted(normal, weight, bias, channel));
    }
    if (threadIdx.x != 0) {
        return;
    }
    means[channel] = kg::from_float<T_out1>(mean);
    scales[channel] = kg::from_float<T_out2>(scale);
    if (kept_mean != nullptr) {
        float new_mean = kg::to_float(running_mean[channel]);
        float new_var = kg::to_float(running_var[channel]);
        if (training) {
            const float n = static_cast<float>(len);
            new_mean = (1.0f - momentum) * new_mean + momentum * mean;
            new_var = (1.0f - momentum) * new_var + momentum * (var * n / (n - 1.0f));
        }
        kept_mean[channel] = kg::from_float<T_running_mean>(new_mean);
        kept_var[channel] = kg::from_float<T_running_var>(new_var);
    }
}
