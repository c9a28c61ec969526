// Baseline of mse_loss: without reduction an elementwise pass; with one, f32 partial sums per
// block, which a single block adds up in a fixed order.
/*@plan
# Without reduction the output has the common shape; with one, the larger input has it.
shape = target.shape if target.numel > self.numel else self.shape
if reduction == 0:
    shape = out.shape
x = expand(self, shape)
y = expand(target, shape)
n = x.numel
lanes = 16 // x.itemsize
vec = define("VEC", lanes if x.align >= 16 and y.align >= 16 else 1)
grid = min(cdiv(n, 256 * vec), 8 * sm_count)
if reduction == 0:
    launch("mse_each", grid=grid, block=256, args=[x, y, out, n])
else:
    blocks = max(grid, 1)
    partial = scratch(4 * blocks)
    launch("mse_partial", grid=blocks, block=256, args=[x, y, partial, n])
    launch("mse_final", grid=1, block=256,
           args=[partial, out, blocks, f32(n) if reduction == 1 else 1.0])
@*/

template <class T>
struct alignas(sizeof(T) * VEC) Pack {
    T at[VEC];
};

__device__ __forceinline__ float squared(T_self x, T_target y) {
    const float difference = kg::to_float(x) - kg::to_float(y);
    return difference * difference;
}

extern "C" __global__ void __launch_bounds__(256)
mse_each(const T_self* __restrict__ x, const T_target* __restrict__ y, T_out* __restrict__ out,
         long long n) {
    const long long n_packs = n / VEC;
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (long long i = first; i < n_packs; i += stride) {
        const Pack<T_self> a = reinterpret_cast<const Pack<T_self>*>(x)[i];
        const Pack<T_target> b = reinterpret_cast<const Pack<T_target>*>(y)[i];
        Pack<T_out> result;
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            result.at[j] = kg::from_float<T_out>(squared(a.at[j], b.at[j]));
        }
        reinterpret_cast<Pack<T_out>*>(out)[i] = result;
    }
    const long long tail = n_packs * VEC + first;
    if (tail < n) {
        out[tail] = kg::from_float<T_out>(squared(x[tail], y[tail]));
    }
}

// The sum over the 256 threads of the block, valid in thread 0.
__device__ float block_sum(float value) {
    __shared__ float partial[8];
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
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
mse_partial(const T_self* __restrict__ x, const T_target* __restrict__ y,
            float* __restrict__ partial, long long n) {
    const long long n_packs = n / VEC;
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (long long i = first; i < n_packs; i += stride) {
        const Pack<T_self> a = reinterpret_cast<const Pack<T_self>*>(x)[i];
        const Pack<T_target> b = reinterpret_cast<const Pack<T_target>*>(y)[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            sum += squared(a.at[j], b.at[j]);
        }
    }
    const long long tail = n_packs * VEC + first;
    if (tail < n) {
        sum += squared(x[tail], y[tail]);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

// The mean of nothing is 0 / 0, NaN as it should be.
extern "C" __global__ void __launch_bounds__(256)
mse_final(const float* __restrict__ partial, T_out* __restrict__ out, int blocks, float divisor) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) {
        sum += partial[i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *out = kg::from_float<T_out>(sum / divisor);
    }
}
