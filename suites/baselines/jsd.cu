// Baseline of jsd: one block adds the terms of all elements.
/*@plan
x = contiguous(input)
y = contiguous(target)
labels = contiguous(shift_labels) if has(shift_labels) else None
launch("jsd", grid=1, block=256,
       args=[x, y, labels, out, x.shape[0], x.shape[1], ignore_index, f32(beta)])
@*/

// The sum over the 256 threads of the block, in every thread.
__device__ float block_sum(float value) {
    __shared__ float partial[256];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int offset = 128; offset > 0; offset /= 2) {
        if (threadIdx.x < offset) {
            partial[threadIdx.x] += partial[threadIdx.x + offset];
        }
        __syncthreads();
    }
    return partial[0];
}

// The part of an element of the divergence of exp(y) and exp(x).
__device__ float part(float x, float y, float beta) {
    if (beta == 0.0f) {
        return expf(y) * (y - x);
    }
    if (beta == 1.0f) {
        return expf(x) * (x - y);
    }
    const float p = beta * expf(y);
    const float q = (1.0f - beta) * expf(x);
    return p * y + q * x - (p + q) * logf(p + q);
}

extern "C" __global__ void __launch_bounds__(256)
jsd(const T_input* __restrict__ x, const T_target* __restrict__ y,
    const long long* __restrict__ labels, T_out* __restrict__ out, long long rows,
    long long width, long long ignored, float beta) {
    float total = 0.0f;
    float counted = 0.0f;
    for (long long row = 0; row < rows; ++row) {
        if (labels && labels[row] == ignored) {
            continue;
        }
        counted += 1.0f;
        for (long long i = threadIdx.x; i < width; i += 256) {
            const float a = kg::to_float(x[row * width + i]);
            const float b = kg::to_float(y[row * width + i]);
            total += part(a, b, beta);
        }
    }
    total = block_sum(total);
    if (threadIdx.x == 0) {
        out[0] = kg::from_float<T_out>(counted > 0.0f ? total / counted : total);
    }
}
