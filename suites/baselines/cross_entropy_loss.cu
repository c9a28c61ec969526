// Baseline of cross_entropy_loss: 32 lanes per short row of logits, a block per long one; the
// second and third look at a row come from the cache. The losses are added up by one block. Rows
// that are strided or weighted, and targets that are probabilities, take one thread per row.
/*@plan
x = contiguous(self)
y = contiguous(target)
w = contiguous(weight)
c = x.shape[1] if x.ndim > 1 else x.shape[0]
n = x.numel // max(1, c)
inner = prod(x.shape, 2)
smooth = label_smoothing
probable = define("PROBABLE", target.dtype != "i64")
plain = x.ndim == 2 and not has(w) and not probable
lanes = 16 // x.itemsize
vec = define("VEC", lanes if plain and x.align >= 16 and c % lanes == 0 else 1)

lanes_per_row = 32 if c <= 1024 else max(32, min(1024, next_pow2(cdiv(c, 4 * vec))))
rows_per_block = 4 if lanes_per_row == 32 else 1
block = (lanes_per_row, rows_per_block)
grid = cdiv(n, rows_per_block)
if not plain:
    losses = scratch(8 * max(1, n))
    launch("loss_general", grid=cdiv(n, 128), block=128,
           args=[x, y, w, losses, n, c, max(1, inner), ignore_index, smooth])
    launch("loss_weighted", grid=1 if reduction != 0 else cdiv(n, 1024), block=1024,
           args=[losses, out, n, reduction])
elif reduction == 0:
    launch("loss_each", grid=grid, block=block, args=[x, y, out, n, c, ignore_index, smooth])
else:
    losses = scratch(4 * n)
    launch("loss_rows", grid=grid, block=block, args=[x, y, losses, n, c, ignore_index, smooth])
    launch("loss_final", grid=1, block=1024,
           args=[losses, y, out, n, ignore_index, reduction == 1])
@*/

struct alignas(sizeof(T_self) * VEC) Pack {
    T_self at[VEC];
};

// Combines over the threads of a row: 32 lanes, or the whole block where blockDim.x is larger.
template <bool MAX>
__device__ float row_reduce(float value) {
    __shared__ float partial[32];
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, value, offset);
        value = MAX ? fmaxf(value, other) : value + other;
    }
    if (blockDim.x == 32) {
        return value;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = value;
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    value = lane < blockDim.x / 32 ? partial[lane] : (MAX ? -INFINITY : 0.0f);
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, value, offset);
        value = MAX ? fmaxf(value, other) : value + other;
    }
    return value;
}

template <class Out>
__device__ void loss(const T_self* __restrict__ x, const T_target* __restrict__ target,
                     Out* __restrict__ out, long long n, int c, long long ignore_index,
                     float smoothing) {
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (row >= n) {
        return;  // All 32 lanes of the row leave; with a block per row this never happens.
    }
    const long long wanted = kg::to_acc(target[row]);
    if (wanted == ignore_index) {
        if (threadIdx.x == 0) {
            out[row] = kg::from_float<Out>(0.0f);
        }
        return;
    }
    const T_self* logits = x + row * c;
    const Pack* packs = reinterpret_cast<const Pack*>(logits);

    // fmaxf drops NaN, which comes back through the sum.
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < c / VEC; i += blockDim.x) {
        const Pack pack = packs[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            largest = fmaxf(largest, kg::to_float(pack.at[j]));
        }
    }
    largest = row_reduce<true>(largest);

    float exponentials = 0.0f;
    float shifted = 0.0f;
    for (int i = threadIdx.x; i < c / VEC; i += blockDim.x) {
        const Pack pack = packs[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            const float value = kg::to_float(pack.at[j]) - largest;
            exponentials += expf(value);
            shifted += value;
        }
    }
    exponentials = row_reduce<false>(exponentials);
    shifted = row_reduce<false>(shifted);

    if (threadIdx.x == 0) {
        const float log_sum = logf(exponentials);
        float result = -(kg::to_float(logits[wanted]) - largest - log_sum);
        if (smoothing != 0.0f) {
            const float all = shifted / c - log_sum;
            result = (1.0f - smoothing) * result - smoothing * all;
        }
        out[row] = kg::from_float<Out>(result);
    }
}

extern "C" __global__ void __launch_bounds__(1024)
loss_each(const T_self* __restrict__ x, const T_target* __restrict__ target,
          T_out* __restrict__ out, long long n, int c, long long ignore_index, float smoothing) {
    loss(x, target, out, n, c, ignore_index, smoothing);
}

extern "C" __global__ void __launch_bounds__(1024)
loss_rows(const T_self* __restrict__ x, const T_target* __restrict__ target,
          float* __restrict__ losses, long long n, int c, long long ignore_index,
          float smoothing) {
    loss(x, target, losses, n, c, ignore_index, smoothing);
}

// The mean over no rows is 0 / 0, NaN as it should be.
extern "C" __global__ void __launch_bounds__(1024)
loss_final(const float* __restrict__ losses, const T_target* __restrict__ target,
           T_out* __restrict__ out, long long n, long long ignore_index, bool mean) {
    float sum = 0.0f;
    float rows = 0.0f;
    for (long long i = threadIdx.x; i < n; i += blockDim.x) {
        sum += losses[i];
        rows += kg::to_acc(target[i]) == ignore_index ? 0.0f : 1.0f;
    }
    sum = row_reduce<false>(sum);
    rows = row_reduce<false>(rows);
    if (threadIdx.x == 0) {
        *out = kg::from_float<T_out>(mean ? sum / rows : sum);
    }
}

// One thread per row, whose logits are `inner` apart; losses, then what a mean counts them with.
extern "C" __global__ void __launch_bounds__(128)
loss_general(const T_self* __restrict__ x, const T_target* __restrict__ target,
             const T_weight* __restrict__ weight, float* __restrict__ losses, long long n, int c,
             long long inner, long long ignore_index, float smoothing) {
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= n) {
        return;
    }
    const long long from = row / inner * c * inner + row % inner;
    float largest = -INFINITY;
    for (int i = 0; i < c; ++i) {
        largest = fmaxf(largest, kg::to_float(x[from + i * inner]));
    }
    float exponentials = 0.0f;
    for (int i = 0; i < c; ++i) {
        exponentials += expf(kg::to_float(x[from + i * inner]) - largest);
    }
    const float log_sum = logf(exponentials);
    float own = 0.0f;
    float all = 0.0f;
    float count = 1.0f;
#if PROBABLE
    for (int i = 0; i < c; ++i) {
        const float factor = weight == nullptr ? 1.0f : kg::to_float(weight[i]);
        const float log_p = kg::to_float(x[from + i * inner]) - largest - log_sum;
        const float wanted = kg::to_float(target[from + i * inner]);
        own -= factor * ((1.0f - smoothing) * wanted + smoothing / c) * log_p;
    }
#else
    const long long wanted = target[row];
    if (wanted == ignore_index) {
        count = 0.0f;
    } else {
        count = weight == nullptr ? 1.0f : kg::to_float(weight[wanted]);
        const float log_p = kg::to_float(x[from + wanted * inner]) - largest - log_sum;
        own = -(1.0f - smoothing) * count * log_p;
        for (int i = 0; smoothing != 0.0f && i < c; ++i) {
            const float factor = weight == nullptr ? 1.0f : kg::to_float(weight[i]);
            all += factor * (kg::to_float(x[from + i * inner]) - largest - log_sum);
        }
        own -= smoothing / c * all;
    }
#endif
    losses[row] = own;
    losses[n + row] = count;
}

extern "C" __global__ void __launch_bounds__(1024)
loss_weighted(const float* __restrict__ losses, T_out* __restrict__ out, long long n,
              int reduction) {
    if (reduction == 0) {
        const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
        if (row < n) {
            out[row] = kg::from_float<T_out>(losses[row]);
        }
        return;
    }
    float sum = 0.0f;
    float count = 0.0f;
    for (long long i = threadIdx.x; i < n; i += blockDim.x) {
        sum += losses[i];
        count += losses[n + i];
    }
    sum = row_reduce<false>(sum);
    count = row_reduce<false>(count);
    if (threadIdx.x == 0) {
        *out = kg::from_float<T_out>(reduction == 1 ? sum / count : sum);
    }
}
