// Baseline of median: one warp finds the bits of the median, from the highest on, by counting.
/*@plan
x = contiguous(self)
launch("median_of", grid=1, block=32, args=[x, out, x.numel])
@*/

using Acc = kg::acc_t<T_self>;

// Unsigned numbers in the order of the elements.
__device__ __forceinline__ unsigned long long key(long long x) {
    return static_cast<unsigned long long>(x) ^ (1ull << 63);
}
__device__ __forceinline__ unsigned key(float x) {
    const unsigned bits = __float_as_uint(x + 0.0f);  // -0 becomes 0
    return bits >> 31 ? ~bits : bits | 1u << 31;
}
using Key = decltype(key(Acc()));

__device__ long long lane_sum(long long value) {
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

__device__ long long lane_min(long long value) {
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        value = min(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
}

// The index of the median of a slice; of NaN the first one.
template <class At> __device__ long long median(const T_self* x, const At& at, long long count) {
    long long found = count;
    for (long long r = threadIdx.x; r < count; r += blockDim.x) {
        const Acc value = kg::to_acc(x[at[r]]);
        found = value != value ? min(found, r) : found;
    }
    found = lane_min(found);
    if (found < count) {
        return found;
    }
    Key prefix = 0;
    long long place = (count - 1) / 2;
    for (int bit = 8 * sizeof(Key) - 1; bit >= 0; --bit) {
        long long zeros = 0;
        for (long long r = threadIdx.x; r < count; r += blockDim.x) {
            zeros += key(kg::to_acc(x[at[r]])) >> bit == prefix >> bit;
        }
        zeros = lane_sum(zeros);
        if (place >= zeros) {
            place -= zeros;
            prefix |= Key(1) << bit;
        }
    }
    for (long long r = threadIdx.x; r < count; r += blockDim.x) {
        found = key(kg::to_acc(x[at[r]])) == prefix ? min(found, r) : found;
    }
    return lane_min(found);
}

struct Flat {
    __device__ long long operator[](long long r) const { return r; }
};

extern "C" __global__ void median_of(const T_self* __restrict__ x, T_out* __restrict__ out,
                                     long long count) {
    const long long index = count > 0 ? median(x, Flat(), count) : 0;
    if (threadIdx.x == 0) {
        out[0] = count > 0 ? x[index] : kg::from_float<T_out>(NAN);
    }
}
