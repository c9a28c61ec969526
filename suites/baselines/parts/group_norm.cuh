// Sums over the threads of a set: a part of a warp, or the block.
__device__ float sum_of_set(float value) {
    for (int offset = min(blockDim.x, 32) / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    if (blockDim.x > 32) {
        __shared__ float warps[32];
        __syncthreads();  // The sum before has been read.
        if (threadIdx.x % 32 == 0) {
            warps[threadIdx.x / 32] = value;
        }
        __syncthreads();
        value = 0.0f;
        for (int warp = 0; warp < blockDim.x / 32; ++warp) {
            value += warps[warp];
        }
    }
    return value;
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

// `VEC` neighbours, which are of one channel.
struct alignas(sizeof(T_input) * VEC) Pack {
    T_input at[VEC];
};

// A set is the neighbouring elements of a group of channels of one sample. Means and scales are
// results of some ops.
extern "C" __global__ void group_norm(const Pack* __restrict__ x,
                                      const T_weight* __restrict__ weight,
                                      const T_bias* __restrict__ bias, Pack* __restrict__ out,
                                      Statistic* __restrict__ means,
                                      Statistic* __restrict__ scales, long long sets, int groups,
                                      int per_group, int inner, float eps) {
    const long long set = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (set >= sets) {
        return;  // All threads of the set leave.
    }
    // Both count packs.
    const int of_channel = inner / VEC;
    const int len = per_group * of_channel;
    x += set * len;
    out += set * len;
    const float count = static_cast<float>(len) * VEC;
    float sum = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < len; i += blockDim.x) {
        const Pack pack = x[i];
        for (int j = 0; j < VEC; ++j) {
            sum += kg::to_float(pack.at[j]);
        }
    }
    const float mean = sum_of_set(sum) / count;
    float squares = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < len; i += blockDim.x) {
        const Pack pack = x[i];
        for (int j = 0; j < VEC; ++j) {
            const float distance = kg::to_float(pack.at[j]) - mean;
            squares += distance * distance;
        }
    }
    const float scale = 1.0f / sqrtf(sum_of_set(squares) / count + eps);
#pragma unroll 4
    for (int i = threadIdx.x; i < len; i += blockDim.x) {
        const long long channel = set % groups * per_group + i / of_channel;
        Pack pack = x[i];
        for (int j = 0; j < VEC; ++j) {
            const float normal = (kg::to_float(pack.at[j]) - mean) * scale;
            pack.at[j] = kg::from_float<T_input>(weighted(normal, weight, bias, channel));
        }
        out[i] = pack;
    }
    if (means != nullptr && threadIdx.x == 0) {
        means[set] = kg::from_float<Statistic>(mean);
        scales[set] = kg::from_float<Statistic>(scale);
    }
}
