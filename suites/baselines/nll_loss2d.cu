// Baseline of nll_loss2d: one thread per place, or one block that adds f32 values up.
/*@plan
x = contiguous(self)
y = contiguous(target)
w = contiguous(weight)
n = y.numel
c = x.shape[1]
inner = x.shape[2] * x.shape[3]
if reduction == 0:
    launch("loss_each", grid=max(1, min(cdiv(n, 256), 16 * sm_count)), block=256,
           args=[x, y, w, out0, out1, n, c, inner, ignore_index])
else:
    launch("loss_sum", grid=1, block=256,
           args=[x, y, w, out0, out1, n, c, inner, ignore_index, reduction == 1])
@*/

__device__ __forceinline__ float factor(const T_weight* weight, long long label) {
    return weight == nullptr ? 1.0f : kg::to_float(weight[label]);
}

// The element of a place's class.
__device__ __forceinline__ long long element(long long place, long long label, long long c, long long inner) {
    return (place / inner * c + label) * inner + place % inner;
}

extern "C" __global__ void __launch_bounds__(256)
loss_each(const T_self* __restrict__ x, const T_target* __restrict__ target,
          const T_weight* __restrict__ weight, T_out0* __restrict__ out,
          T_out1* __restrict__ total, long long n, long long c, long long inner, long long ignored) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long label = target[i];
        float value = 0.0f;
        if (label != ignored) {
            value = -factor(weight, label) * kg::to_float(x[element(i, label, c, inner)]);
        }
        out[i] = kg::from_float<T_out0>(value);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *total = kg::from_float<T_out1>(0.0f);
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

extern "C" __global__ void __launch_bounds__(256)
loss_sum(const T_self* __restrict__ x, const T_target* __restrict__ target,
         const T_weight* __restrict__ weight, T_out0* __restrict__ out,
         T_out1* __restrict__ total, long long n, long long c, long long inner, long long ignored, bool mean) {
    float losses = 0.0f;
    float weights = 0.0f;
    for (long long i = threadIdx.x; i < n; i += blockDim.x) {
        const long long label = target[i];
        if (label != ignored) {
            losses -= factor(weight, label) * kg::to_float(x[element(i, label, c, inner)]);
            weights += factor(weight, label);
        }
    }
    losses = block_sum(losses);
    weights = block_sum(weights);
    if (threadIdx.x == 0) {
        *out = kg::from_float<T_out0>(mean ? losses / weights : losses);
        *total = kg::from_float<T_out1>(weights);
    }
}
