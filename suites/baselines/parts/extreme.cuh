// x is [n / b, count, b]; element r of the slice of output o.
struct Slice {
    long long base, inner, count;
    __device__ Slice(long long o, long long count, long long b)
        : base(o / b * count * b + o % b), inner(b), count(count) {}
    __device__ long long operator[](long long r) const { return base + r * inner; }
};

using Acc = kg::acc_t<T_self>;

// The most extreme element so far and its index; NaN is beyond every number.
struct Best {
    Acc value;
    long long index;  // -1: none yet
    __device__ void add(Acc other, long long at) {
        const bool beyond = index < 0 || BEYOND(other, value) || (other != other && value == value);
        // Of equal elements the first.
        const bool same = other == value || (other != other && value != value);
        if (at >= 0 && (beyond || (same && at < index))) {
            value = other;
            index = at;
        }
    }

    // Takes an element behind all those taken before.
    __device__ void scan(Acc other, long long at) {
        if (index < 0 || BEYOND(other, value) || (other != other && value == value)) {
            value = other;
            index = at;
        }
    }

    // Takes what so many neighbouring lanes found.
    __device__ void share(int lanes) {
        for (int offset = lanes / 2; offset > 0; offset /= 2) {
            const Acc other = __shfl_xor_sync(0xffffffffu, value, offset);
            const long long at = __shfl_xor_sync(0xffffffffu, index, offset);
            add(other, at);
        }
    }
};

struct Fold {
    Best best;
    static __device__ Fold none() { return {{0, -1}}; }
    template <int N>
    __device__ __forceinline__ void add(const T_self (&x)[N], long long at, long long step) {
        // Compares a few elements before it counts in 64 bits.
        Best among = {kg::to_acc(x[0]), 0};
        int place = 0;
#pragma unroll
        for (int i = 1; i < N; ++i) {
            const Acc other = kg::to_acc(x[i]);
            if (BEYOND(other, among.value) || (other != other && among.value == among.value)) {
                among.value = other;
                place = i;
            }
        }
        best.scan(among.value, at + place * step);
    }
    __device__ void join(const Fold& other) { best.add(other.best.value, other.best.index); }
    __device__ Fold of_lane(int offset) const {
        return {{__shfl_xor_sync(0xffffffffu, best.value, offset),
                 __shfl_xor_sync(0xffffffffu, best.index, offset)}};
    }
};

__device__ void finish(const Fold& fold, long long o, long long n, long long count, First* first,
                       Second* second, float option) {
    first[o] = fold.best.index;
    if (second) {
        second[o] = kg::from_acc<Second>(fold.best.value);
    }
}
#include "fold.cuh"

extern "C" __global__ void extreme(const T_self* __restrict__ x, First* __restrict__ out,
                                   Second* __restrict__ values, long long n, long long count, long long b) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    const Slice at(o, count, b);
    Best best{0, -1};
    // Loads of several elements are under way at once.
    constexpr int AHEAD = 8;
    for (long long r = threadIdx.x; r < at.count; r += AHEAD * blockDim.x) {
        T_self loaded[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            const long long next = r + i * blockDim.x;
            loaded[i] = x[at[next < at.count ? next : r]];
        }
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            const long long next = r + i * blockDim.x;
            if (next < at.count) {
                best.scan(kg::to_acc(loaded[i]), next);
            }
        }
    }
    best.share(blockDim.x);
    if (threadIdx.x == 0) {
        out[o] = best.index;
        if (values) {
            values[o] = kg::from_acc<Second>(best.value);
        }
    }
}
