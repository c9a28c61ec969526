// Baseline of softmax. Along the last dimension each thread keeps its part of a row in registers,
// so that the row is read once: 32 lanes per short row, a block per long one; rows that no block
// holds are read three times, mostly from the cache. Along another dimension each thread walks one
// column, neighbours in memory side by side.
/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
rows = prod(x.shape, 0, d)
len_ = x.shape[d] if x.ndim > 0 else 1
inner = prod(x.shape, d + 1)

lanes = 16 // x.itemsize
packed = inner == 1 and x.align >= 16 and len_ % lanes == 0
vec = define("VEC", lanes if packed else 1)
packs = define("PACKS", 4 if packed else 8)

if inner == 1:
    # Threads per row; one row takes 32 lanes or a whole block.
    lanes_per_row = min(1024, align_up(max(1, cdiv(len_, packs * vec)), 32))
    rows_per_block = 4 if lanes_per_row == 32 else 1
    kernel = "softmax_rows" if len_ <= 1024 * packs * vec else "softmax_long_rows"
    launch(kernel, grid=cdiv(rows, rows_per_block), block=(lanes_per_row, rows_per_block),
           args=[x, out, rows, len_])
else:
    launch("softmax_columns", grid=cdiv(rows * inner, 256), block=256,
           args=[x, out, rows * inner, len_, inner])
@*/

template <class T>
struct alignas(sizeof(T) * VEC) PackOf {
    T at[VEC];
};
using Pack = PackOf<T_self>;
using OutPack = PackOf<T_out>;

struct Max {
    static __device__ float start() { return -INFINITY; }
    // Drops NaN, which comes back through the sum.
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float start() { return 0.0f; }
    __device__ float operator()(float a, float b) const { return a + b; }
};

// Reduces over the threads of a row: 32 lanes, or the whole block where blockDim.x is larger. Each
// operation is used once, so that nobody waits for its shared memory.
template <class Op>
__device__ float row_reduce(float value, Op op) {
    __shared__ float partial[32];
    for (int offset = 16; offset > 0; offset /= 2) {
        value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    if (blockDim.x == 32) {
        return value;
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = value;
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    value = lane < blockDim.x / 32 ? partial[lane] : Op::start();
    for (int offset = 16; offset > 0; offset /= 2) {
        value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(1024)
softmax_rows(const T_self* __restrict__ x, T_out* __restrict__ out, long long rows, int len) {
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (row >= rows) {
        return;  // All 32 lanes of the row leave; with a block per row this never happens.
    }
    const Pack* in = reinterpret_cast<const Pack*>(x + row * len);
    OutPack* to = reinterpret_cast<OutPack*>(out + row * len);
    const int n_packs = len / VEC;

    Pack packs[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * blockDim.x + threadIdx.x;
        if (i < n_packs) {
            packs[p] = in[i];
        }
    }
    float values[PACKS * VEC];
    float largest = -INFINITY;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p * blockDim.x + threadIdx.x < n_packs) {
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                values[p * VEC + j] = kg::to_float(packs[p].at[j]);
                largest = fmaxf(largest, values[p * VEC + j]);
            }
        }
    }
    largest = row_reduce(largest, Max());

    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p * blockDim.x + threadIdx.x < n_packs) {
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                values[p * VEC + j] = expf(values[p * VEC + j] - largest);
                sum += values[p * VEC + j];
            }
        }
    }
    const float scale = 1.0f / row_reduce(sum, Sum());

#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * blockDim.x + threadIdx.x;
        if (i < n_packs) {
            OutPack pack;
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                pack.at[j] = kg::from_float<T_out>(values[p * VEC + j] * scale);
            }
            to[i] = pack;
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024)
softmax_long_rows(const T_self* __restrict__ x, T_out* __restrict__ out, long long rows, int len) {
    const Pack* in = reinterpret_cast<const Pack*>(x + blockIdx.x * static_cast<long long>(len));
    OutPack* to = reinterpret_cast<OutPack*>(out + blockIdx.x * static_cast<long long>(len));
    const int n_packs = len / VEC;

    float largest = -INFINITY;
    for (int i = threadIdx.x; i < n_packs; i += blockDim.x) {
        const Pack pack = in[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            largest = fmaxf(largest, kg::to_float(pack.at[j]));
        }
    }
    largest = row_reduce(largest, Max());

    float sum = 0.0f;
    for (int i = threadIdx.x; i < n_packs; i += blockDim.x) {
        const Pack pack = in[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            sum += expf(kg::to_float(pack.at[j]) - largest);
        }
    }
    const float scale = 1.0f / row_reduce(sum, Sum());

    for (int i = threadIdx.x; i < n_packs; i += blockDim.x) {
        const Pack pack = in[i];
        OutPack scaled;
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            scaled.at[j] = kg::from_float<T_out>(expf(kg::to_float(pack.at[j]) - largest) * scale);
        }
        to[i] = scaled;
    }
}

extern "C" __global__ void __launch_bounds__(256)
softmax_columns(const T_self* __restrict__ x, T_out* __restrict__ out, long long columns, int len,
                long long inner) {
    const long long column = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (column >= columns) {
        return;
    }
    const long long base = column / inner * inner * len + column % inner;
    float largest = -INFINITY;
    for (int i = 0; i < len; ++i) {
        largest = fmaxf(largest, kg::to_float(x[base + i * inner]));
    }
    float sum = 0.0f;
    for (int i = 0; i < len; ++i) {
        sum += expf(kg::to_float(x[base + i * inner]) - largest);
    }
    for (int i = 0; i < len; ++i) {
        const float value = expf(kg::to_float(x[base + i * inner]) - largest);
        out[base + i * inner] = kg::from_float<T_out>(value / sum);
    }
}
