// Baseline of group_norm: mean, then variance from centred values, then the group.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
channels = x.shape[1]
groups = num_groups
inner = prod(x.shape, 2)
sets = x.shape[0] * groups
per_group = channels // groups
lanes = 32 if per_group * inner > 32 else 1
launch("group_norm", grid=cdiv(sets, 128 // lanes), block=(lanes, 128 // lanes),
       args=[x, w, b, out, sets, groups, per_group, inner, f32(eps)])
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

// A set is the neighbouring elements of a group of channels of one sample.
extern "C" __global__ void group_norm(const T_input* __restrict__ x,
                                      const T_weight* __restrict__ weight,
                                      const T_bias* __restrict__ bias, T_out* __restrict__ out,
                                      long long sets, long long groups, long long per_group,
                                      long long inner, float eps) {
    const long long set = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (set >= sets) {
        return;  // All lanes of the set leave.
    }
    const long long len = per_group * inner;
    const auto at = [=](long long i) { return set * len + i; };
    float mean, var, scale;
    statistics(x, at, len, eps, mean, var, scale);
    for (long long i = threadIdx.x; i < len; i += blockDim.x) {
        const long long channel = set % groups * per_group + i / inner;
        const float normal = (kg::to_float(x[at(i)]) - mean) * scale;
        out[at(i)] = kg::from_float<T_out>(weighted(normal, weight, bias, channel));
    }
}
