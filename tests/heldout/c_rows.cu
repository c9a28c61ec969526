/*@plan
x = contiguous(input)
w = contiguous(weight) if has(weight) else weight
@PLAN@
length = 1
for extent in normalized_shape:
    length *= extent
rows = x.numel // max(length, 1)
e = f32(eps) if has(eps) else f32(1.1920928955078125e-07)
launch("normalise", grid=rows, block=128, args=[x, w, @ARGS@out, length, e])
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

// A block per row.
extern "C" __global__ void normalise(const T_input* __restrict__ in, const T_weight* __restrict__ w, @PARAMS@T_out* __restrict__ out, long long length, float eps) {
    __shared__ float tree[128];
    const T_input* x = in + blockIdx.x * length;
    @MEAN@
    float mine = 0.0f;
    for (long long k = threadIdx.x; k < length; k += 128) {
        const float d = kg::to_float(x[k])@CENTRE@;
        mine += d * d;
    }
    const float variance = add_up(mine, tree) / static_cast<float>(length);
    const float scale = 1.0f / sqrtf(variance + eps);
    for (long long k = threadIdx.x; k < length; k += 128) {
        const float d = kg::to_float(x[k])@CENTRE@;
        const float gain = w != nullptr ? kg::to_float(w[k]) : 1.0f;
        const float y = d * scale * gain@SHIFT@;
        out[blockIdx.x * length + k] = kg::from_float<T_out>(y);
    }
}
