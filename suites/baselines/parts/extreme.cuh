// x is [a, r1, b, r2, c]; output o counts through [a, b, c], element r of its slice through [r1, r2].
struct Slice {
    long long base, outer, r2, inner, count;
    __device__ Slice(long long o, long long r1, long long b, long long r2, long long c)
        : base((o / c / b * r1 * b + o / c % b) * r2 * c + o % c), outer(b * r2 * c), r2(r2),
          inner(c), count(r1 * r2) {}
    __device__ long long operator[](long long r) const {
        return r2 == count ? base + r * inner : base + r / r2 * outer + r % r2 * inner;
    }
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

extern "C" __global__ void extreme(const T_self* __restrict__ x, T_out* __restrict__ out,
                                   long long n, long long r1, long long b, long long r2,
                                   long long c) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    const Slice at(o, r1, b, r2, c);
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
    best.share(min(blockDim.x, 32));
    if (blockDim.x > 32) {
        // The slice is the block's; its first warp compares what the warps found.
        __shared__ Acc values[32];
        __shared__ long long indices[32];
        if (threadIdx.x % 32 == 0) {
            values[threadIdx.x / 32] = best.value;
            indices[threadIdx.x / 32] = best.index;
        }
        __syncthreads();
        if (threadIdx.x < 32) {
            const bool found = threadIdx.x < blockDim.x / 32;
            best = found ? Best{values[threadIdx.x], indices[threadIdx.x]} : Best{0, -1};
            best.share(32);
        }
    }
    if (threadIdx.x == 0) {
        out[o] = best.index;
    }
}
