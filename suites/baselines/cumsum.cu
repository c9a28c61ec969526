// Baseline of cumsum: running sums, f32 for floats and 64 bits for integers. Rows are scanned by a block each.
/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
outer = prod(x.shape, 0, d)
len_ = x.shape[d] if x.ndim > 0 else 1
inner = prod(x.shape, d + 1)
n = outer * inner if len_ > 0 else 0
pack = 16 // x.itemsize
if inner == 1 and len_ >= 32 and n > 0:
    whole = len_ % pack == 0 and x.align >= 16
    launch("scan_rows", grid=n, block=min(256, align_up(cdiv(len_, pack), 32)), args=[x, out, len_, whole])
else:
    launch("scan", grid=cdiv(n, 64), block=64, args=[x, out, n, len_, inner])
@*/

using Acc = kg::acc_t<T_out>;

// x is [outer, len, inner]; each thread walks one slice.
extern "C" __global__ void scan(const T_self* __restrict__ x, T_out* __restrict__ out,
                                long long n, long long len, long long inner) {
    const long long slice = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (slice >= n) {
        return;
    }
    long long at = slice / inner * len * inner + slice % inner;
    Acc total = 0;
    for (long long i = 0; i < len; ++i, at += inner) {
        total += static_cast<Acc>(kg::to_acc(x[at]));
        out[at] = kg::from_acc<T_out>(total);
    }
}

constexpr int PACK = 16 / sizeof(T_self);  // neighbours of a thread

template <class T>
struct alignas(sizeof(T) * PACK <= 16 ? sizeof(T) * PACK : 16) Pack {
    T at[PACK];
};

// A block takes a row pack by pack; `whole` if rows consist of aligned ones.
extern "C" __global__ void __launch_bounds__(256) scan_rows(const T_self* __restrict__ x, T_out* __restrict__ out,
                                                            long long len, bool whole) {
    __shared__ Acc of_warps[2][8];
    x += blockIdx.x * len;
    out += blockIdx.x * len;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int step = blockDim.x * PACK;
    auto read = [&](long long at) {
        Pack<T_self> pack = {};
        if (whole && at < len) {
            pack = *reinterpret_cast<const Pack<T_self>*>(x + at);
        } else {
            for (int i = 0; i < PACK; ++i) {
                pack.at[i] = at + i < len ? x[at + i] : pack.at[i];
            }
        }
        return pack;
    };
    Acc before = 0;  // of the packs of earlier rounds
    long long at = threadIdx.x * PACK;
    Pack<T_self> next = read(at);
    for (int round = 0; at - threadIdx.x * PACK < len; ++round, at += step) {
        const Pack<T_self> pack = next;
        next = read(at + step);
        Acc sums[PACK];
        Acc total = 0;
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            total += static_cast<Acc>(kg::to_acc(pack.at[i]));
            sums[i] = total;
        }
        for (int offset = 1; offset < 32; offset *= 2) {
            const Acc left = __shfl_up_sync(0xffffffffu, total, offset);
            total += lane >= offset ? left : Acc(0);
        }
        Acc* warps = of_warps[round % 2];  // the other one may still be read
        if (lane == 31) {
            warps[warp] = total;
        }
        Acc base = __shfl_up_sync(0xffffffffu, total, 1);
        base = lane == 0 ? Acc(0) : base;
        __syncthreads();
        Acc all = before;
        for (int i = 0; i < blockDim.x / 32; ++i) {
            if (i == warp) {
                base += all;
            }
            all += warps[i];
        }
        before = all;
        Pack<T_out> result;
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            result.at[i] = kg::from_acc<T_out>(base + sums[i]);
        }
        if (whole && at < len) {
            *reinterpret_cast<Pack<T_out>*>(out + at) = result;
        } else {
            for (int i = 0; i < PACK && at + i < len; ++i) {
                out[at + i] = result.at[i];
            }
        }
    }
}
