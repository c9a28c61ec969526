/*@plan
x = contiguous(input)
w = contiguous(weight) if has(weight) else weight
b = contiguous(bias) if has(bias) else bias
kept = has(running_mean)
rm = contiguous(running_mean) if kept else running_mean
rv = contiguous(running_var) if kept else running_var
channels = x.shape[1]
area = 1
for i in range(2, x.ndim):
    area *= x.shape[i]
rm_out = out3 if kept else None
rv_out = out4 if kept else None
launch("normalise", grid=channels, block=128, args=[x, w, b, rm, rv, out0, out1, out2, rm_out, rv_out, x.shape[0], channels, area, 1 if training else 0, f32(momentum), f32(eps)])
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

// A block per channel.
extern "C" __global__ void normalise(const T_input* __restrict__ in, const T_weight* __restrict__ w, const T_bias* __restrict__ b,
                                     const T_running_mean* __restrict__ rm, const T_running_var* __restrict__ rv, T_out0* __restrict__ out,
                                     T_out1* __restrict__ means, T_out2* __restrict__ factors, T_running_mean* __restrict__ rm_out, T_running_var* __restrict__ rv_out,
                                     long long batch, long long channels, long long area, int training, float momentum, float eps) {
    __shared__ float tree[128];
    const long long c = blockIdx.x;
    const long long n = batch * area;
    float mean = 0.0f;
    float variance = 0.0f;
    if (training) {
        float mine = 0.0f;
        for (long long k = threadIdx.x; k < n; k += 128) {
            mine += kg::to_float(in[(k / area * channels + c) * area + k % area]);
        }
        mean = add_up(mine, tree) / static_cast<float>(n);
        mine = 0.0f;
        for (long long k = threadIdx.x; k < n; k += 128) {
            const float d = kg::to_float(in[(k / area * channels + c) * area + k % area]) - mean;
            mine += d * d;
        }
        variance = add_up(mine, tree) / static_cast<float>(n);
    } else {
        mean = kg::to_float(rm[c]);
        variance = kg::to_float(rv[c]);
    }
    const float scale = 1.0f / sqrtf(variance + eps);
    const float gain = w != nullptr ? kg::to_float(w[c]) : 1.0f;
    const float shift = b != nullptr ? kg::to_float(b[c]) : 0.0f;
    for (long long k = threadIdx.x; k < n; k += 128) {
        const long long i = (k / area * channels + c) * area + k % area;
        out[i] = kg::from_float<T_out0>((kg::to_float(in[i]) - mean) * scale * gain + shift);
    }
    if (threadIdx.x != 0) {
        return;
    }
    means[c] = kg::from_float<T_out1>(mean);
    factors[c] = kg::from_float<T_out2>(scale);
    if (rm != nullptr) {
        const float unbiased = variance * (static_cast<float>(n) / static_cast<float>(n - 1));
        rm_out[c] = training ? kg::from_float<T_running_mean>((1.0f - momentum) * kg::to_float(rm[c]) + momentum * mean) : kg::from_float<T_running_mean>(kg::to_float(rm[c]));
        rv_out[c] = training ? kg::from_float<T_running_var>((1.0f - momentum) * kg::to_float(rv[c]) + momentum * unbiased) : kg::from_float<T_running_var>(kg::to_float(rv[c]));
    }
}
