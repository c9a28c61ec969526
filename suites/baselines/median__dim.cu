// Baseline of median.dim: the bits of the median, from the highest on, by counting.
/*@plan
x = contiguous(self)
# Neighbouring dimensions as groups: kept a, folded r1, kept b, folded r2, kept c.
a, r1, b, r2, c = 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    folded = i == dim or i - x.ndim == dim
    extent = x.shape[i]
    if extent != 1:
        require(not (folded and group == 4), "at most two separate groups of folded dimensions")
        if folded == (group % 2 == 0):
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
n = a * b * c
count = r1 * r2
# Long slices are shared by 32 lanes.
lanes = 32 if count > 32 else 1
launch("median_of", grid=cdiv(n, 128 // lanes), block=(lanes, 128 // lanes),
       args=[x, out0, out1, n, r1, b, r2, c])
@*/

// x is [a, r1, b, r2, c]; output o counts through [a, b, c], element r of its slice through [r1, r2].
struct Slice {
    long long base, outer, r2, inner;
    __device__ Slice(long long o, long long r1, long long b, long long r2, long long c)
        : base((o / c / b * r1 * b + o / c % b) * r2 * c + o % c), outer(b * r2 * c), r2(r2),
          inner(c) {}
    __device__ long long operator[](long long r) const {
        return base + r / r2 * outer + r % r2 * inner;
    }
};

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

extern "C" __global__ void median_of(const T_self* __restrict__ x, T_out0* __restrict__ values,
    T_out1* __restrict__ indices, long long n, long long r1, long long b, long long r2,
    long long c) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    const Slice at(o, r1, b, r2, c);
    const long long index = median(x, at, r1 * r2);
    if (threadIdx.x == 0) {
        values[o] = x[at[index]];
        indices[o] = index;
    }
}
