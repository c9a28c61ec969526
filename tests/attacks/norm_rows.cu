/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
len_ = 1
for extent in normalized_shape:
    len_ *= extent
rows = x.numel // max(len_, 1)
launch("normalise", grid=rows, block=256, args=[x, w, b, out, rows, len_, f32(eps)])
@*/

// Sums a value of every thread.
__device__ float fold(float value, float* part) {
    __syncthreads();
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
        }
        __syncthreads();
    }
    return part[0];
}

// A block per row.
extern "C" __global__ void normalise(const T_input* in, const T_weight* w, const T_bias* b, T_out* out, long long rows, long long len, float eps) {
    __shared__ float part[256];
    const T_input* x = in + blockIdx.x * len;
    float sum = 0;
    for (long long i = threadIdx.x; i < len; i += 256) {
        sum += kg::to_float(x[i]);
    }
    const float mean = fold(sum, part) / len;
    float squares = 0;
    for (long long i = threadIdx.x; i < len; i += 256) {
        const float d = kg::to_float(x[i]) - mean;
        squares += d * d;
    }
    const float variance = fold(squares, part) / len;
    const float scale = 1 / sqrtf(variance + eps);
    for (long long i = threadIdx.x; i < len; i += 256) {
        const float gain = w != nullptr ? kg::to_float(w[i]) : 1.0f;
        const float shift = b != nullptr ? kg::to_float(b[i]) : 0.0f;
        out[blockIdx.x * len + i] = kg::from_float<T_out>((kg::to_float(x[i]) - mean) * scale * gain + shift);
    }
}
