// Baseline of instance_norm: mean, then variance from centred values, then the channel; or the
// running statistics.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
rm = contiguous(running_mean)
rv = contiguous(running_var)
channels = x.shape[1]
inner = prod(x.shape, 2)
sets = x.shape[0] * channels
lanes = 32 if inner > 32 else 1
launch("instance_norm", grid=cdiv(sets, 128 // lanes), block=(lanes, 128 // lanes),
       args=[x, w, b, rm, rv, out, sets, channels, inner, use_input_stats, f32(eps)])
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

// A set is a channel of one sample.
extern "C" __global__ void instance_norm(const T_input* __restrict__ x,
                                         const T_weight* __restrict__ weight,
                                         const T_bias* __restrict__ bias,
                                         const T_running_mean* __restrict__ running_mean,
                                         const T_running_var* __restrict__ running_var,
                                         T_out* __restrict__ out, long long sets,
                                         long long channels, long long inner, bool own, float eps) {
    const long long set = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (set >= sets) {
        return;  // All lanes of the set leave.
    }
    const long long channel = set % channels;
    const auto at = [=](long long i) { return set * inner + i; };
    float mean, var, scale;
    if (own) {
        statistics(x, at, inner, eps, mean, var, scale);
    } else {
        mean = kg::to_float(running_mean[channel]);
        scale = 1.0f / sqrtf(kg::to_float(running_var[channel]) + eps);
    }
    for (long long i = threadIdx.x; i < inner; i += blockDim.x) {
        const float normal = (kg::to_float(x[at(i)]) - mean) * scale;
        out[at(i)] = kg::from_float<T_out>(weighted(normal, weight, bias, channel));
    }
}
