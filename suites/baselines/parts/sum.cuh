using Acc = kg::acc_t<T_out>;

// An element; with SKIP_NAN 0 in the place of NaN.
template <class T> __device__ __forceinline__ auto term(T x) -> decltype(kg::to_acc(x)) {
    const auto value = kg::to_acc(x);
    return !SKIP_NAN || value == value ? value : decltype(kg::to_acc(x))(0);
}

#include "fold_sum.cuh"

using First = T_out;
using Second = T_out;
__device__ void finish(const Fold& fold, long long o, long long n, long long count, First* first, Second* second,
                       float option) {
    first[o] = kg::from_acc<T_out>(fold.sum);
}
#include "fold.cuh"

// x is [n / b, r, b]; each thread sums a pack of neighbours over the blockIdx.y-th chunk of r.
template <class Out>
__device__ void strips(const T_self* __restrict__ x, Out* __restrict__ out, long long n,
                       long long b, long long r, long long chunk) {
    const long long o = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) * VEC;
    if (o >= n) {
        return;
    }
    const long long from = blockIdx.y * chunk;
    const long long to = min(from + chunk, r);
    const T_self* in = x + (o / b * r + from) * b + o % b;
    Acc sums[VEC] = {};
#pragma unroll AT_ONCE
    for (long long i = from; i < to; ++i, in += b) {
        const Pack<VEC> pack = *reinterpret_cast<const Pack<VEC>*>(in);
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            sums[j] += static_cast<Acc>(term(pack.at[j]));
        }
    }
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
        out[blockIdx.y * n + o + j] = kg::from_acc<Out>(sums[j]);
    }
}

extern "C" __global__ void sum_strips(const T_self* __restrict__ x, T_out* __restrict__ out,
                                      long long n, long long b, long long r, long long chunk) {
    strips(x, out, n, b, r, chunk);
}

extern "C" __global__ void sum_strips_partial(const T_self* __restrict__ x, Acc* __restrict__ out,
                                              long long n, long long b, long long r,
                                              long long chunk) {
    strips(x, out, n, b, r, chunk);
}

extern "C" __global__ void __launch_bounds__(256)
sum_strips_final(const Acc* __restrict__ x, T_out* __restrict__ out, long long n, int len) {
    __shared__ Acc partial[8][32];
    const long long o = static_cast<long long>(blockIdx.x) * 32 + threadIdx.x;
    Acc sum = 0;
    if (o < n) {
#pragma unroll 4
        for (int i = threadIdx.y; i < len; i += 8) {
            sum += x[i * n + o];
        }
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && o < n) {
        for (int y = 1; y < 8; ++y) {
            sum += partial[y][threadIdx.x];
        }
        out[o] = kg::from_acc<T_out>(sum);
    }
}

// x is [a, r1, b, r2, c]; output `o` counts through [a, b, c]. Block row y takes the y-th chunk of
// the r1 * r2 elements and writes to its own row of `out`.
// Sums of chunks are NaN where infinities of both signs meet, and stay so.
template <bool CHUNKS, class In, class Out>
__device__ void columns(const In* __restrict__ x, Out* __restrict__ out, long long n, long long r1,
                        long long b, long long r2, long long c, long long chunk) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (o >= n) {
        return;
    }
    const long long ic = o % c;
    const long long ib = o / c % b;
    const long long ia = o / c / b;
    const In* in = x + (ia * r1 * b + ib) * r2 * c + ic;
    const long long from = blockIdx.y * chunk;
    const long long to = min(from + chunk, r1 * r2);
    Acc sum = 0;
    if (from < to) {
        long long inner = from % r2;
        in += (from / r2 * b * r2 + inner) * c;
        for (long long r = from; r < to; ++r) {
            sum += static_cast<Acc>(CHUNKS ? kg::to_acc(*in) : term(*in));
            in += c;
            if (++inner == r2) {
                inner = 0;
                in += (b - 1) * r2 * c;
            }
        }
    }
    out[blockIdx.y * n + o] = kg::from_acc<Out>(sum);
}

extern "C" __global__ void sum_columns(const T_self* __restrict__ x, T_out* __restrict__ out,
                                       long long n, long long r1, long long b, long long r2,
                                       long long c, long long chunk) {
    columns<false>(x, out, n, r1, b, r2, c, chunk);
}

extern "C" __global__ void sum_columns_partial(const T_self* __restrict__ x,
                                               Acc* __restrict__ out, long long n, long long r1,
                                               long long b, long long r2, long long c,
                                               long long chunk) {
    columns<false>(x, out, n, r1, b, r2, c, chunk);
}

extern "C" __global__ void sum_columns_final(const Acc* __restrict__ x, T_out* __restrict__ out,
                                             long long n, long long r1, long long b, long long r2,
                                             long long c, long long chunk) {
    columns<true>(x, out, n, r1, b, r2, c, chunk);
}

// x is [a, r1, b, r2, c, r3, d]; output `o` counts through [a, b, c, d].
extern "C" __global__ void sum_scattered(const T_self* __restrict__ x, T_out* __restrict__ out,
                                         long long n, long long r1, long long b, long long r2,
                                         long long c, long long r3, long long d) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (o >= n) {
        return;
    }
    const long long step3 = d, step2 = c * r3 * d, step1 = b * r2 * step2;
    const T_self* in = x + o / d / c / b * r1 * step1 + o / d / c % b * r2 * step2
                       + o / d % c * r3 * step3 + o % d;
    Acc sum = 0;
    for (long long i = 0; i < r1; ++i) {
        for (long long j = 0; j < r2; ++j) {
            for (long long k = 0; k < r3; ++k) {
                sum += static_cast<Acc>(term(in[i * step1 + j * step2 + k * step3]));
            }
        }
    }
    out[o] = kg::from_acc<T_out>(sum);
}
