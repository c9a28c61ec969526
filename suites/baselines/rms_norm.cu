// Baseline of rms_norm: each thread keeps its part of a row in registers, so that the row is read
// once: 32 lanes per short row, a block per long one. Rows that no block holds are read twice, the
// second time mostly from the cache.
/*@plan
x = contiguous(input)
w = contiguous(weight)
len_ = 1
for extent in normalized_shape:
    len_ *= extent
rows = x.numel // max(len_, 1)
epsilon = eps if has(eps) else 1.1920928955078125e-07

lanes = 16 // x.itemsize
packed = x.align >= 16 and len_ % lanes == 0
if has(w):
    packed = packed and w.align >= 16
vec = define("VEC", lanes if packed else 1)
packs = define("PACKS", 16 // lanes if packed else 8)

# Threads per row; one row takes 32 lanes or a whole block.
lanes_per_row = min(1024, align_up(max(1, cdiv(len_, packs * vec)), 32))
rows_per_block = 4 if lanes_per_row == 32 else 1
kernel = "rms_norm" if len_ <= 1024 * packs * vec else "rms_norm_long"
launch(kernel, grid=cdiv(rows, rows_per_block), block=(lanes_per_row, rows_per_block),
       args=[x, w, out, rows, len_, f32(epsilon)])
@*/

template <class T>
struct alignas(sizeof(T) * VEC) Pack {
    T at[VEC];
};

// Sums over the threads of a row: 32 lanes, or the whole block where blockDim.x is larger.
__device__ float row_sum(float value) {
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

// What is written for the pack `i` of a row.
__device__ __forceinline__ Pack<T_out> scaled(const Pack<T_input>& x, float scale, int i,
                                              const T_weight* __restrict__ weight) {
    Pack<T_weight> gain;
    if (weight != nullptr) {
        gain = reinterpret_cast<const Pack<T_weight>*>(weight)[i];
    }
    Pack<T_out> result;
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
        float normal = kg::to_float(x.at[j]) * scale;
        if (weight != nullptr) {
            normal *= kg::to_float(gain.at[j]);
        }
        result.at[j] = kg::from_float<T_out>(normal);
    }
    return result;
}

extern "C" __global__ void __launch_bounds__(1024)
rms_norm(const T_input* __restrict__ x, const T_weight* __restrict__ weight,
         T_out* __restrict__ out, long long rows, int len, float eps) {
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
                const float value = kg::to_float(packs[p].at[j]);
                sum += value * value;
            }
        }
    }
    const float scale = 1.0f / sqrtf(row_sum(sum) / len + eps);

#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * blockDim.x + threadIdx.x;
        if (i < n_packs) {
            to[i] = scaled(packs[p], scale, i, weight);
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024)
rms_norm_long(const T_input* __restrict__ x, const T_weight* __restrict__ weight,
              T_out* __restrict__ out, long long rows, int len, float eps) {
    const long long row = blockIdx.x;
    const Pack<T_input>* in = reinterpret_cast<const Pack<T_input>*>(x + row * len);
    Pack<T_out>* to = reinterpret_cast<Pack<T_out>*>(out + row * len);
    const int n_packs = len / VEC;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < n_packs; i += blockDim.x) {
        const Pack<T_input> pack = in[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            const float value = kg::to_float(pack.at[j]);
            sum += value * value;
        }
    }
    const float scale = 1.0f / sqrtf(row_sum(sum) / len + eps);

    for (int i = threadIdx.x; i < n_packs; i += blockDim.x) {
        to[i] = scaled(in[i], scale, i, weight);
    }
}
