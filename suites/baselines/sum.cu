// Baseline of sum: f32 accumulators (64-bit ones of integers), no atomics. Long reductions are
// split over blocks into partial sums, which a second launch adds up.
/*@plan
x = contiguous(self)

# Neighbouring dimensions as groups: kept a, summed r1, kept b, summed r2, kept c.
a, r1, b, r2, c = 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    summed = dim is None or len(dim) == 0 or i in dim or i - x.ndim in dim
    extent = x.shape[i]
    if extent != 1:
        require(not (summed and group == 4), "at most two separate groups of summed dimensions")
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
        else:
            c *= extent

n = a * b * c                           # outputs
count = r1 * r2                         # elements of each
lanes = 16 // x.itemsize
rows = b * r2 * c == 1 and count > 32   # the summed elements lie side by side
packed = rows and x.align >= 16 and count % lanes == 0
vec = define("VEC", lanes if packed else 1)

if rows:
    # Few long rows are split so that the device is busy.
    block = 256 if count >= 4096 else 32
    splits = max(1, min(cdiv(8 * sm_count, max(n, 1)), count // 16384)) if n < 8 * sm_count else 1
    if splits == 1:
        launch("sum_rows", grid=n, block=block, args=[x, out, count])
    else:
        chunk = align_up(cdiv(count, splits), 8)
        partial = scratch(8 * n * splits)
        launch("sum_rows_partial", grid=(splits, n), block=256, args=[x, partial, count, chunk])
        launch("sum_columns_final", grid=cdiv(n, 64), block=64,
               args=[partial, out, n, splits, 1, 1, 1, splits])
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

template <class T>
struct alignas(sizeof(T) * VEC) Pack {
    T at[VEC];
};

// Sums a row per block; where SPLIT, only the blockIdx.x-th chunk of row blockIdx.y.
template <bool SPLIT, class Out>
__device__ void rows(const T_self* __restrict__ x, Out* __restrict__ out, long long len,
                     long long chunk) {
    __shared__ float partial[32];
    const long long row = SPLIT ? blockIdx.y : blockIdx.x;
    const long long from = SPLIT ? blockIdx.x * chunk : 0;
    const long long to = min(from + chunk, len);
    const T_self* in = x + row * len;
    Acc sum = 0;
    for (long long i = from / VEC + threadIdx.x; i < to / VEC; i += blockDim.x) {
        const Pack<T_self> pack = reinterpret_cast<const Pack<T_self>*>(in)[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            sum += static_cast<Acc>(kg::to_acc(pack.at[j]));
        }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < blockDim.x / 32; ++warp) {
            sum += partial[warp];
        }
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
            sum += static_cast<Acc>(kg::to_acc(*in));
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
