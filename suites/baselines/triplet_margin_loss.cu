// Baseline of triplet_margin_loss: one thread per row; one block adds f32 values up.
/*@plan
shape = anchor.shape
if positive.numel > anchor.numel:
    shape = positive.shape
if negative.numel > max(positive.numel, anchor.numel):
    shape = negative.shape
a = expand(anchor, shape)
b = expand(positive, shape)
c = expand(negative, shape)
len_ = a.shape[-1]
n = a.numel // max(len_, 1)
if reduction == 0:
    launch("loss_each", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, c, out, n, len_, f32(margin), f32(p), f32(eps), swap])
else:
    values = scratch(4 * max(n, 1))
    launch("loss_rows", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, c, values, n, len_, f32(margin), f32(p), f32(eps), swap])
    launch("loss_sum", grid=1, block=256, args=[values, out, n, reduction == 1])
@*/

template <class A, class B>
__device__ float distance(const A* a, const B* b, long long len, float p, float eps) {
    float total = 0.0f;
    for (long long k = 0; k < len; ++k) {
        const float d = fabsf(kg::to_float(a[k]) - kg::to_float(b[k]) + eps);
        total += p == 2.0f ? d * d : (p == 1.0f ? d : powf(d, p));
    }
    return p == 2.0f ? sqrtf(total) : (p == 1.0f ? total : powf(total, 1.0f / p));
}

__device__ float loss_of(const T_anchor* a, const T_positive* b, const T_negative* c,
                         long long len, float margin, float p, float eps, bool swap) {
    const float near = distance(a, b, len, p, eps);
    float far = distance(a, c, len, p, eps);
    if (swap) {
        const float other = distance(b, c, len, p, eps);
        far = isnan(far) || far < other ? far : other;
    }
    const float apart = margin + near - far;
    return apart < 0.0f ? 0.0f : apart;
}

extern "C" __global__ void __launch_bounds__(256)
loss_each(const T_anchor* __restrict__ a, const T_positive* __restrict__ b,
          const T_negative* __restrict__ c, T_out* __restrict__ out, long long n, long long len,
          float margin, float p, float eps, bool swap) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = kg::from_float<T_out>(loss_of(a + i * len, b + i * len, c + i * len, len, margin, p, eps, swap));
    }
}

extern "C" __global__ void __launch_bounds__(256)
loss_rows(const T_anchor* __restrict__ a, const T_positive* __restrict__ b,
          const T_negative* __restrict__ c, float* __restrict__ out, long long n, long long len,
          float margin, float p, float eps, bool swap) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = loss_of(a + i * len, b + i * len, c + i * len, len, margin, p, eps, swap);
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
