// Baseline of fused_linear_cross_entropy: a block per row makes its logits and its loss; one block adds the rows.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias) if has(bias) else None
t = contiguous(target)
rows, hidden = input.shape
classes = weight.shape[0]
logits = scratch(4 * max(1, rows * classes))
losses = scratch(4 * max(1, rows))
launch("row_loss", grid=rows, block=128,
       args=[x, w, b, t, logits, losses, hidden, classes, ignore_index, f32(label_smoothing)])
launch("add_rows", grid=1, block=128, args=[losses, t, out, rows, ignore_index, reduction == "mean"])
@*/

// The largest, or the sum, of the 128 threads of the block, in every thread.
__device__ float over_block(float value, bool largest) {
    __shared__ float partial[128];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int offset = 64; offset > 0; offset /= 2) {
        if (threadIdx.x < offset) {
            const float other = partial[threadIdx.x + offset];
            const float mine = partial[threadIdx.x];
            partial[threadIdx.x] = largest ? fmaxf(mine, other) : mine + other;
        }
        __syncthreads();
    }
    return partial[0];
}

extern "C" __global__ void __launch_bounds__(128)
row_loss(const T_input* __restrict__ x, const T_weight* __restrict__ w,
         const T_bias* __restrict__ bias, const long long* __restrict__ target,
         float* __restrict__ logits, float* __restrict__ losses, long long hidden,
         long long classes, long long ignored, float smoothing) {
    const long long row = blockIdx.x;
    float* own = logits + row * classes;
    float largest = -INFINITY;
    for (long long c = threadIdx.x; c < classes; c += 128) {
        float logit = 0.0f;
        for (long long i = 0; i < hidden; ++i) {
            logit = fmaf(kg::to_float(x[row * hidden + i]), kg::to_float(w[c * hidden + i]), logit);
        }
        logit = bias ? logit + kg::to_float(bias[c]) : logit;
        own[c] = logit;
        largest = fmaxf(largest, logit);
    }
    largest = over_block(largest, true);
    float total = 0.0f;
    float shifted = 0.0f;
    for (long long c = threadIdx.x; c < classes; c += 128) {
        total += expf(own[c] - largest);
        shifted += own[c] - largest;
    }
    total = over_block(total, false);
    shifted = over_block(shifted, false);
    if (threadIdx.x == 0) {
        const long long at = target[row];
        float loss = 0.0f;
        if (at != ignored) {
            loss = (1.0f - smoothing) * (logf(total) - (own[at] - largest));
            if (smoothing > 0.0f) {
                loss += smoothing * (logf(total) - shifted / classes);
            }
        }
        losses[row] = loss;
    }
}

extern "C" __global__ void add_rows(const float* __restrict__ losses,
                                    const long long* __restrict__ target, T_out* __restrict__ out,
                                    long long rows, long long ignored, bool mean) {
    float sum = 0.0f;
    float counted = 0.0f;
    for (long long row = threadIdx.x; row < rows; row += blockDim.x) {
        counted += target[row] != ignored;
        sum += losses[row];
    }
    sum = over_block(sum, false);
    counted = over_block(counted, false);
    out[0] = kg::from_float<T_out>(mean && counted > 0.0f ? sum / counted : sum);
}
