// Baseline of cosine_embedding_loss: one thread per row; one block adds f32 values up.
/*@plan
a = contiguous(input1)
b = contiguous(input2)
y = contiguous(target)
len_ = a.shape[-1]
n = target.numel
if reduction == 0:
    launch("loss_each", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, y, out, n, len_, f32(margin)])
else:
    values = scratch(4 * max(n, 1))
    launch("loss_rows", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, y, values, n, len_, f32(margin)])
    launch("loss_sum", grid=1, block=256, args=[values, out, n, reduction == 1])
@*/

__device__ float loss_of(const T_input1* a, const T_input2* b, float label, long long len,
                         float margin) {
    float dot = 0.0f;
    float left = 0.0f;
    float right = 0.0f;
    for (long long k = 0; k < len; ++k) {
        const float x = kg::to_float(a[k]);
        const float y = kg::to_float(b[k]);
        dot += x * y;
        left += x * x;
        right += y * y;
    }
    const float cosine = dot / sqrtf((left + 1e-12f) * (right + 1e-12f));
    if (label == 1.0f) {
        return 1.0f - cosine;
    }
    const float above = cosine - margin;
    return label != -1.0f || above < 0.0f ? 0.0f : above;
}

extern "C" __global__ void __launch_bounds__(256)
loss_each(const T_input1* __restrict__ a, const T_input2* __restrict__ b,
          const T_target* __restrict__ y, T_out* __restrict__ out, long long n, long long len,
          float margin) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = kg::from_float<T_out>(loss_of(a + i * len, b + i * len, kg::to_float(y[i]), len, margin));
    }
}

extern "C" __global__ void __launch_bounds__(256)
loss_rows(const T_input1* __restrict__ a, const T_input2* __restrict__ b,
          const T_target* __restrict__ y, float* __restrict__ out, long long n, long long len,
          float margin) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = loss_of(a + i * len, b + i * len, kg::to_float(y[i]), len, margin);
    }
}

// The sum over the 256 threads of the block, valid in thread 0.
__device__ float block_sum(float value) {
    __shared__ float partial[8];
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; ++warp) {
            value += partial[warp];
        }
    }
    return value;
}

// One block adds the losses up in a fixed order; the mean of nothing is 0 / 0.
extern "C" __global__ void __launch_bounds__(256)
loss_sum(const float* __restrict__ values, T_out* __restrict__ out, long long n, bool mean) {
    float total = 0.0f;
    for (long long i = threadIdx.x; i < n; i += blockDim.x) {
        total += values[i];
    }
    total = block_sum(total);
    if (threadIdx.x == 0) {
        *out = kg::from_float<T_out>(mean ? total / n : total);
    }
}
