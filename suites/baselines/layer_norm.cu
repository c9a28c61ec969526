// Baseline of layer_norm: each thread keeps its part of a row in registers, so that the row is read
// once and the variance taken from centred values: 32 lanes per short row, a block per long one.
// Rows that no block holds are read three times, mostly from the cache.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = contiguous(bias)
len_ = 1
for extent in normalized_shape:
    len_ *= extent
rows = x.numel // max(len_, 1)

lanes = 16 // x.itemsize
packed = x.align >= 16 and len_ % lanes == 0
if has(w):
    packed = packed and w.align >= 16
if has(b):
    packed = packed and b.align >= 16
vec = define("VEC", lanes if packed else 1)
packs = define("PACKS", 4 if packed else 8)
define("AFFINE", has(w) and has(b))

# Threads per row; one row takes 32 lanes or a whole block.
lanes_per_row = min(1024, align_up(max(1, cdiv(len_, packs * vec)), 32))
rows_per_block = 4 if lanes_per_row == 32 else 1
kernel = "layer_norm" if len_ <= 1024 * packs * vec else "layer_norm_long"
launch(kernel, grid=cdiv(rows, rows_per_block), block=(lanes_per_row, rows_per_block),
       args=[x, w, b, out, rows, len_, f32(eps)])
@*/

template <class T>
struct alignas(sizeof(T) * VEC) Pack {
    T at[VEC];
};

// Sums over the threads of a row: 32 lanes, or the whole block where blockDim.x is larger. Each
// sum has its own shared memory, so that nobody waits for it.
template <int WHICH> __device__ float row_sum(float value) {
    __shared__ float partial[32];
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    if (blockDim.x == 32) {
        return value;
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = value;
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    value = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

// Hides from the compiler what a pack holds. It would otherwise keep every element as a float from
// one pass to the next, and so many registers leave too few rows under way.
template <class P> __device__ __forceinline__ void reread(P& pack) {
    if (sizeof(P) % 4 == 0) {
#pragma unroll
        for (int i = 0; i < sizeof(P) / 4; ++i) {
            asm volatile("" : "+r"(reinterpret_cast<unsigned*>(&pack)[i]));
        }
    }
}

// What is written for the pack `i` of a row.
__device__ __forceinline__ Pack<T_out> scaled(const Pack<T_input>& x, float mean, float scale, int i,
                                              const T_weight* __restrict__ weight,
                                              const T_bias* __restrict__ bias) {
    Pack<T_weight> gain;
    if (AFFINE || weight != nullptr) {
        gain = reinterpret_cast<const Pack<T_weight>*>(weight)[i];
    }
    Pack<T_bias> shift;
    if (AFFINE || bias != nullptr) {
        shift = reinterpret_cast<const Pack<T_bias>*>(bias)[i];
    }
    Pack<T_out> result;
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
        float normal = (kg::to_float(x.at[j]) - mean) * scale;
        if (AFFINE || weight != nullptr) {
            normal *= kg::to_float(gain.at[j]);
        }
        if (AFFINE || bias != nullptr) {
            normal += kg::to_float(shift.at[j]);
        }
        result.at[j] = kg::from_float<T_out>(normal);
    }
    return result;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
layer_norm(const T_input* __restrict__ x, const T_weight* __restrict__ weight,
           const T_bias* __restrict__ bias, T_out* __restrict__ out, long long rows, int len,
           float eps) {
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (row >= rows) {
        return;  // All 32 lanes of the row leave; with a block per row this never happens.
    }
    const Pack<T_input>* in = reinterpret_cast<const Pack<T_input>*>(x + row * len);
    Pack<T_out>* to = reinterpret_cast<Pack<T_out>*>(out + row * len);
    const int n_packs = len / VEC;

    Pack<T_input> packs[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * blockDim.x + threadIdx.x;
        if (i < n_packs) {
            packs[p] = in[i];
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p * blockDim.x + threadIdx.x < n_packs) {
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                sum += kg::to_float(packs[p].at[j]);
            }
        }
    }
    const float mean = row_sum<0>(sum) / len;

    float squares = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p * blockDim.x + threadIdx.x < n_packs) {
            reread(packs[p]);
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                const float value = kg::to_float(packs[p].at[j]) - mean;
                squares += value * value;
            }
        }
    }
    const float scale = 1.0f / sqrtf(row_sum<1>(squares) / len + eps);

#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * blockDim.x + threadIdx.x;
        if (i < n_packs) {
            reread(packs[p]);
            to[i] = scaled(packs[p], mean, scale, i, weight, bias);
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024)
layer_norm_long(const T_input* __restrict__ x, const T_weight* __restrict__ weight,
                const T_bias* __restrict__ bias, T_out* __restrict__ out, long long rows, int len,
                float eps) {
    const long long row = blockIdx.x;
    const Pack<T_input>* in = reinterpret_cast<const Pack<T_input>*>(x + row * len);
    Pack<T_out>* to = reinterpret_cast<Pack<T_out>*>(out + row * len);
    const int n_packs = len / VEC;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < n_packs; i += blockDim.x) {
        const Pack<T_input> pack = in[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            sum += kg::to_float(pack.at[j]);
        }
    }
    const float mean = row_sum<0>(sum) / len;

    float squares = 0.0f;
    for (int i = threadIdx.x; i < n_packs; i += blockDim.x) {
        const Pack<T_input> pack = in[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            const float value = kg::to_float(pack.at[j]) - mean;
            squares += value * value;
        }
    }
    const float scale = 1.0f / sqrtf(row_sum<1>(squares) / len + eps);

    for (int i = threadIdx.x; i < n_packs; i += blockDim.x) {
        to[i] = scaled(in[i], mean, scale, i, weight, bias);
    }
}
