// Baseline of nansum: f32 accumulators (64-bit ones of integers), no atomics. Long reductions are
// split over blocks into partial sums, which a second launch adds up.
/*@plan
x = contiguous(self)

# Neighbouring dimensions as groups: kept a, summed r1, kept b, summed r2, kept c, summed r3, kept d.
a, r1, b, r2, c, r3, d = 1, 1, 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    summed = dim is None or len(dim) == 0 or i in dim or i - x.ndim in dim
    extent = x.shape[i]
    if extent != 1:
        require(not (summed and group == 6), "at most three separate groups of summed dimensions")
        if summed == (group % 2 == 0):
            group += 1
        if group == 0:
            a *= extent
        elif group == 1:
            r1 *= extent
        elif group == 2:
            b *= extent
        elif group == 3:
            r2 *= extent
        elif group == 4:
            c *= extent
        elif group == 5:
            r3 *= extent
        else:
            d *= extent

n = a * b * c * d                       # outputs
count = r1 * r2 * r3                    # elements of each
lanes = 16 // x.itemsize
rows = b * r2 * c == 1 and count > 32   # the summed elements lie side by side
strips = not rows and r2 * c == 1       # the outputs lie side by side, the summed elements b apart
packed = x.align >= 16 and (rows and count % lanes == 0 or strips and b % lanes == 0)
vec = define("VEC", lanes if packed else 1)

if group > 4:
    # Rare: one thread per output, whatever lies side by side.
    launch("sum_scattered", grid=max(1, cdiv(n, 64)), block=64, args=[x, out, n, r1, b, r2, c, r3, d])
elif rows:
    # Few long rows are split so that the device is busy.
    splits = max(1, min(cdiv(8 * sm_count, max(n, 1)), count // 8192)) if n < 4 * sm_count else 1
    chunk = align_up(cdiv(count, splits), 4096)
    block = max(32, min(256, next_pow2(cdiv(chunk if splits > 1 else count, 8 * vec))))
    if splits == 1:
        launch("sum_rows", grid=n, block=block, args=[x, out, count])
    else:
        splits = cdiv(count, chunk)
        partial = scratch(8 * n * splits)
        launch("sum_rows_partial", grid=(splits, n), block=block, args=[x, partial, count, chunk])
        launch("sum_rows_final", grid=n, block=max(32, min(1024, next_pow2(splits))),
               args=[partial, out, splits])
elif strips and packed:
    # One thread per pack of outputs.
    blocks = max(1, cdiv(n, 128 * vec))
    splits = max(1, min(cdiv(8 * sm_count, blocks), r1 // 16, 65535))
    if splits == 1:
        launch("sum_strips", grid=(blocks, 1), block=128, args=[x, out, n, b, r1, r1])
    else:
        partial = scratch(8 * n * splits)
        launch("sum_strips_partial", grid=(blocks, splits), block=128,
               args=[x, partial, n, b, r1, cdiv(r1, splits)])
        launch("sum_strips_final", grid=cdiv(n, 32), block=(32, 8), args=[partial, out, n, splits])
else:
    # One thread per output, neighbours side by side in memory.
    blocks = max(1, cdiv(n, 64))
    splits = max(1, min(cdiv(16 * sm_count, blocks), count // 64, 65535))
    if splits == 1:
        launch("sum_columns", grid=cdiv(n, 64), block=64,
               args=[x, out, n, r1, b, r2, c, count])
    else:
        partial = scratch(8 * n * splits)
        launch("sum_columns_partial", grid=(cdiv(n, 64), splits), block=64,
               args=[x, partial, n, r1, b, r2, c, cdiv(count, splits)])
        launch("sum_columns_final", grid=cdiv(n, 64), block=64,
               args=[partial, out, n, splits, 1, 1, n, splits])
@*/

using Acc = kg::acc_t<T_out>;

// An element, or 0 in the place of NaN.
template <class T> __device__ __forceinline__ auto term(T x) -> decltype(kg::to_acc(x)) {
    const auto value = kg::to_acc(x);
    return value == value ? value : decltype(kg::to_acc(x))(0);
}

// Loads that a thread waits for together.
constexpr int AT_ONCE = 4;

template <class T>
struct alignas(sizeof(T) * VEC) Pack {
    T at[VEC];
};

__device__ __forceinline__ Acc total(const Pack<T_self>& pack) {
    Acc sum = 0;
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
        sum += static_cast<Acc>(term(pack.at[j]));
    }
    return sum;
}

__device__ Acc warp_sum(Acc sum) {
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    return sum;
}

// Sums over the threads of a block; the first one has the result.
__device__ Acc block_sum(Acc sum) {
    __shared__ Acc partial[32];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : Acc(0));
    }
    return sum;
}

// Sums a row per block; where SPLIT, only the blockIdx.x-th chunk of row blockIdx.y.
template <bool SPLIT, class Out>
__device__ void rows(const T_self* __restrict__ x, Out* __restrict__ out, long long len,
                     long long chunk) {
    const long long row = SPLIT ? blockIdx.y : blockIdx.x;
    const long long from = SPLIT ? blockIdx.x * chunk : 0;
    const long long to = min(from + chunk, len) / VEC;
    const Pack<T_self>* in = reinterpret_cast<const Pack<T_self>*>(x + row * len);
    Acc sum = 0;
    long long i = from / VEC + threadIdx.x;
    for (; i + (AT_ONCE - 1) * blockDim.x < to; i += AT_ONCE * blockDim.x) {
        Pack<T_self> packs[AT_ONCE];
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            packs[p] = in[i + p * blockDim.x];
        }
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            sum += total(packs[p]);
        }
    }
    for (; i < to; i += blockDim.x) {
        sum += total(in[i]);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        out[SPLIT ? row * gridDim.x + blockIdx.x : row] = kg::from_acc<Out>(sum);
    }
}

extern "C" __global__ void sum_rows(const T_self* __restrict__ x, T_out* __restrict__ out,
                                    long long len) {
    rows<false>(x, out, len, len);
}

extern "C" __global__ void sum_rows_partial(const T_self* __restrict__ x, Acc* __restrict__ out,
                                            long long len, long long chunk) {
    rows<true>(x, out, len, chunk);
}

extern "C" __global__ void sum_rows_final(const Acc* __restrict__ x, T_out* __restrict__ out,
                                          int len) {
    Acc sum = 0;
    for (int i = threadIdx.x; i < len; i += blockDim.x) {
        sum += x[static_cast<long long>(blockIdx.x) * len + i];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        out[blockIdx.x] = kg::from_acc<T_out>(sum);
    }
}

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
        const Pack<T_self> pack = *reinterpret_cast<const Pack<T_self>*>(in);
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
template <class In, class Out>
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
            sum += static_cast<Acc>(term(*in));
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
    columns(x, out, n, r1, b, r2, c, chunk);
}

extern "C" __global__ void sum_columns_partial(const T_self* __restrict__ x,
                                               Acc* __restrict__ out, long long n, long long r1,
                                               long long b, long long r2, long long c,
                                               long long chunk) {
    columns(x, out, n, r1, b, r2, c, chunk);
}

extern "C" __global__ void sum_columns_final(const Acc* __restrict__ x, T_out* __restrict__ out,
                                             long long n, long long r1, long long b, long long r2,
                                             long long c, long long chunk) {
    columns(x, out, n, r1, b, r2, c, chunk);
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
