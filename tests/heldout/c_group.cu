/*@plan
x = contiguous(input)
w = contiguous(weight) if has(weight) else weight
b = contiguous(bias) if has(bias) else bias
channels = x.shape[1]
area = 1
for i in range(2, x.ndim):
    area *= x.shape[i]
per_group = channels // num_groups
launch("normalise", grid=x.shape[0] * num_groups, block=128, args=[x, w, b, out, num_groups, per_group, area, f32(eps)])
@*/

__device__ float add_up(float mine, float* tree) {
    const int t = threadIdx.x;
    tree[t] = mine;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) {
            tree[t] += tree[t + half];
        }
        __syncthreads();
    }
    const float sum = tree[0];
    __syncthreads();
    return sum;
}

// A block per group of a sample.
extern "C" __global__ void normalise(const T_input* __restrict__ in, const T_weight* __restrict__ w, const T_bias* __restrict__ b, T_out* __restrict__ out,
                                     int groups, int per_group, long long area, float eps) {
    __shared__ float tree[128];
    const long long n = per_group * area;
    const long long base = blockIdx.x * n;
    const int group = blockIdx.x % groups;
    float mine = 0.0f;
    for (long long k = threadIdx.x; k < n; k += 128) {
        mine += kg::to_float(in[base + k]);
    }
    const float mean = add_up(mine, tree) / static_cast<float>(n);
    mine = 0.0f;
    for (long long k = threadIdx.x; k < n; k += 128) {
        const float d = kg::to_float(in[base + k]) - mean;
        mine += d * d;
    }
    const float variance = add_up(mine, tree) / static_cast<float>(n);
    const float scale = 1.0f / sqrtf(variance + eps);
    for (long long k = threadIdx.x; k < n; k += 128) {
        const int c = group * per_group + static_cast<int>(k / area);
        const float gain = w != nullptr ? kg::to_float(w[c]) : 1.0f;
        const float shift = b != nullptr ? kg::to_float(b[c]) : 0.0f;
        const float d = kg::to_float(in[base + k]) - mean;
        out[base + k] = kg::from_float<T_out>(d * scale * gain + shift);
    }
}
