// Baseline of hinge_loss: an elementwise pass, or one block that adds f32 values up.
/*@plan
shape = self.shape
if target.numel > self.numel:
    shape = target.shape
if reduction == 0:
    shape = out.shape
x = expand(self, shape)
y = expand(target, shape)
n = x.numel
if reduction == 0:
    launch("loss_each", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
           args=[x, y, out, n])
else:
    launch("loss_sum", grid=1, block=256,
           args=[x, y, out, n, reduction == 1])
@*/

__device__ __forceinline__ float loss_of(float x, float y) {
    const float apart = 1.0f - x * y;
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
loss_each(const T_self* __restrict__ x, const T_target* __restrict__ y,
          T_out* __restrict__ out, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = kg::from_float<T_out>(loss_of(kg::to_float(x[i]), kg::to_float(y[i])));
    }
}

// One block adds all values up in a fixed order; the mean of nothing is 0 / 0.
extern "C" __global__ void __launch_bounds__(256)
loss_sum(const T_self* __restrict__ x, const T_target* __restrict__ y,
         T_out* __restrict__ out, long long n, bool mean) {
    float total = 0.0f;
    for (long long i = threadIdx.x; i < n; i += blockDim.x) {
        total += loss_of(kg::to_float(x[i]), kg::to_float(y[i]));
    }
    total = block_sum(total);
    if (threadIdx.x == 0) {
        *out = kg::from_float<T_out>(mean ? total / n : total);
    }
}
