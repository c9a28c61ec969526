// LOG: the logarithms.
#include "fold_exponentials.cuh"

using First = T_out;
using Second = T_out;
// All that was folded is partial.
__device__ void finish(const Fold&, long long, long long, long long, First*, Second*, float) {}
#include "fold.cuh"

template <class T>
struct alignas(sizeof(T) * VEC) PackOf {
    T at[VEC];
};
using InPack = PackOf<T_self>;
using OutPack = PackOf<T_out>;

// Of a row with such a largest element and sum of exponentials.
struct Normal {
    float largest, scale;
    __device__ Normal(float largest, float sum) : largest(largest), scale(LOG ? logf(sum) : 1.0f / sum) {}
    __device__ __forceinline__ float operator()(float x) const {
        return LOG ? x - largest - scale : expf(x - largest) * scale;
    }
};

// A row in packs that begin at multiples of their size. With RAGGED there are elements before and behind them, of which
// a thread has one at most.
struct Row {
    const T_self* x;
    T_out* out;
    const InPack* in;
    OutPack* to;
    int n_packs;
    bool has_single;
    float single = -INFINITY;

    __device__ Row(const T_self* from, T_out* into, long long row, int len) : x(from + row * len), out(into + row * len) {
        const int head = RAGGED ? -row * len & (VEC - 1) : 0;
        in = reinterpret_cast<const InPack*>(x + head);
        to = reinterpret_cast<OutPack*>(out + head);
        n_packs = (len - head) / VEC;
        const int thread = threadIdx.x;
        const int at = thread < head ? thread : thread + n_packs * VEC;
        x += at;
        out += at;
        has_single = RAGGED && at < len;
        if (has_single) {
            single = kg::to_float(*x);
        }
    }
    __device__ void store(int i, const InPack& pack, const Normal& normal) const {
        OutPack result;
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            result.at[j] = kg::from_float<T_out>(normal(kg::to_float(pack.at[j])));
        }
        to[i] = result;
    }
    __device__ void store_single(const Normal& normal) const {
        if (has_single) {
            *out = kg::from_float<T_out>(normal(single));
        }
    }
};

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
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (at >= rows) {
        return;  // All 32 lanes of the row leave; with a block per row this never happens.
    }
    const Row row(x, out, at, len);
    InPack packs[PACKS];
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * blockDim.x + threadIdx.x;
        if (i < row.n_packs) {
            packs[p] = row.in[i];
        }
    }
    float largest = row.single;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p * blockDim.x + threadIdx.x < row.n_packs) {
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                largest = fmaxf(largest, kg::to_float(packs[p].at[j]));
            }
        }
    }
    largest = row_reduce(largest, Max());
    float sum = RAGGED ? expf(row.single - largest) : 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        if (p * blockDim.x + threadIdx.x < row.n_packs) {
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                sum += expf(kg::to_float(packs[p].at[j]) - largest);
            }
        }
    }
    const Normal normal(largest, row_reduce(sum, Sum()));
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
        const int i = p * blockDim.x + threadIdx.x;
        if (i < row.n_packs) {
            row.store(i, packs[p], normal);
        }
    }
    row.store_single(normal);
}

extern "C" __global__ void __launch_bounds__(1024)
softmax_long_rows(const T_self* __restrict__ x, T_out* __restrict__ out, long long rows, int len) {
    const Row row(x, out, blockIdx.x, len);
    float largest = row.single;
    for (int i = threadIdx.x; i < row.n_packs; i += blockDim.x) {
        const InPack pack = row.in[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            largest = fmaxf(largest, kg::to_float(pack.at[j]));
        }
    }
    largest = row_reduce(largest, Max());
    float sum = RAGGED ? expf(row.single - largest) : 0.0f;
    for (int i = threadIdx.x; i < row.n_packs; i += blockDim.x) {
        const InPack pack = row.in[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            sum += expf(kg::to_float(pack.at[j]) - largest);
        }
    }
    const Normal normal(largest, row_reduce(sum, Sum()));
    for (int i = threadIdx.x; i < row.n_packs; i += blockDim.x) {
        row.store(i, row.in[i], normal);
    }
    row.store_single(normal);
}

// What `fold_rows` found of a row's chunks; blockIdx.y counts them.
extern "C" __global__ void __launch_bounds__(256)
softmax_split_rows(const T_self* __restrict__ x, const Fold* __restrict__ partial, T_out* __restrict__ out,
                   long long len, long long chunk) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    Fold fold = Fold::none();
    for (int i = threadIdx.x % 32; i < gridDim.y; i += 32) {
        fold.join(partial[static_cast<long long>(blockIdx.x) * gridDim.y + i]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        fold.join(fold.of_lane(offset));
    }
    // With an infinite maximum there is no result.
    const Normal normal(fold.largest, isinf(fold.largest) ? NAN : fold.sum);
    const InPack* in = reinterpret_cast<const InPack*>(x + blockIdx.x * len);
    OutPack* to = reinterpret_cast<OutPack*>(out + blockIdx.x * len);
    const long long end = min((blockIdx.y + 1) * chunk, len) / VEC;
#pragma unroll 4
    for (long long i = blockIdx.y * chunk / VEC + threadIdx.x; i < end; i += 256) {
        const InPack pack = in[i];
        OutPack result;
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            result.at[j] = kg::from_float<T_out>(normal(kg::to_float(pack.at[j])));
        }
        to[i] = result;
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
    const Normal normal(largest, sum);
    for (int i = 0; i < len; ++i) {
        out[base + i * inner] = kg::from_float<T_out>(normal(kg::to_float(x[base + i * inner])));
    }
}
