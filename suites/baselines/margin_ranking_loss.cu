// Baseline of margin_ranking_loss: an elementwise pass, or one block that adds f32 values up.
/*@plan
shape = input1.shape
if target.numel > input1.numel:
    shape = target.shape
if reduction == 0:
    shape = out.shape
x = expand(input1, shape)
y = expand(input2, shape)
z = expand(target, shape)
n = x.numel
if reduction == 0:
    launch("loss_each", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
           args=[x, y, z, out, n, f32(margin)])
else:
    launch("loss_sum", grid=1, block=256,
           args=[x, y, z, out, n, reduction == 1, f32(margin)])
@*/

__device__ __forceinline__ float loss_of(float x, float y, float z, float margin) {
    const float apart = -z * (x - y) + margin;
    return apart < 0.0f ? 0.0f : apart;
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
loss_each(const T_input1* __restrict__ x, const T_input2* __restrict__ y,
          const T_target* __restrict__ z, T_out* __restrict__ out, long long n, float margin) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = kg::from_float<T_out>(loss_of(kg::to_float(x[i]), kg::to_float(y[i]), kg::to_float(z[i]), margin));
    }
}

// One block adds all values up in a fixed order; the mean of nothing is 0 / 0.
extern "C" __global__ void __launch_bounds__(256)
loss_sum(const T_input1* __restrict__ x, const T_input2* __restrict__ y,
         const T_target* __restrict__ z, T_out* __restrict__ out, long long n, bool mean,
         float margin) {
    float total = 0.0f;
    for (long long i = threadIdx.x; i < n; i += blockDim.x) {
        total += loss_of(kg::to_float(x[i]), kg::to_float(y[i]), kg::to_float(z[i]), margin);
    }
    total = block_sum(total);
    if (threadIdx.x == 0) {
        *out = kg::from_float<T_out>(mean ? total / n : total);
    }
}
