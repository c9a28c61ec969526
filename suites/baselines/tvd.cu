// Baseline of tvd: one block adds the terms of all elements.
/*@plan
x = contiguous(p)
y = contiguous(q)
labels = contiguous(shift_labels) if has(shift_labels) else None
if reduction == "none":
    launch("each", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
           args=[x, y, labels, out, out.numel, max(1, x.shape[1]), ignore_index])
else:
    each = x.shape[1] if reduction == "mean" else 1
    launch("tvd", grid=1, block=256,
           args=[x, y, labels, out, x.shape[0], x.shape[1], ignore_index, each, reduction == "sum"])
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

extern "C" __global__ void __launch_bounds__(256)
tvd(const T_p* __restrict__ x, const T_q* __restrict__ y,
    const long long* __restrict__ labels, T_out* __restrict__ out, long long rows,
    long long width, long long ignored, long long each, bool whole) {
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
            total += 0.5f * fabsf(a - b);
        }
    }
    total = block_sum(total);
    if (threadIdx.x == 0) {
        const bool divided = counted > 0.0f && each > 0 && !whole;
        out[0] = kg::from_float<T_out>(divided ? total / (counted * each) : total);
    }
}

extern "C" __global__ void __launch_bounds__(256)
each(const T_p* __restrict__ x, const T_q* __restrict__ y, const long long* __restrict__ labels,
     T_out* __restrict__ out, long long n, long long width, long long ignored) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const bool counts = !labels || labels[i / width] != ignored;
        const float distance = 0.5f * fabsf(kg::to_float(x[i]) - kg::to_float(y[i]));
        out[i] = kg::from_float<T_out>(counts ? distance : 0.0f);
    }
}
