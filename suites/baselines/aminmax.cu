// Baseline of aminmax: lanes keep their smallest and their largest element, then compare.
/*@plan
x = contiguous(self)
# Neighbouring dimensions as groups: kept a, folded r1, kept b, folded r2, kept c.
a, r1, b, r2, c = 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    folded = dim is None or i == dim or i - x.ndim == dim
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
launch("ends", grid=cdiv(n, 128 // lanes), block=(lanes, 128 // lanes),
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

// The smallest and the largest element so far; NaN is beyond every number.
struct Ends {
    Acc low, high;
    __device__ void add(Acc other_low, Acc other_high) {
        low = low != low || low < other_low ? low : other_low;
        high = high != high || high > other_high ? high : other_high;
    }
};

extern "C" __global__ void ends(const T_self* __restrict__ x, T_out0* __restrict__ lows,
    T_out1* __restrict__ highs, long long n, long long r1, long long b, long long r2,
    long long c) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    const Slice at(o, r1, b, r2, c);
    const long long count = r1 * r2;
    const Acc first = kg::to_acc(x[at[0]]);
    Ends best{first, first};
    for (long long r = threadIdx.x; r < count; r += blockDim.x) {
        const Acc value = kg::to_acc(x[at[r]]);
        best.add(value, value);
    }
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        const Acc low = __shfl_xor_sync(0xffffffffu, best.low, offset);
        const Acc high = __shfl_xor_sync(0xffffffffu, best.high, offset);
        best.add(low, high);
    }
    if (threadIdx.x == 0) {
        lows[o] = kg::from_acc<T_out0>(best.low);
        highs[o] = kg::from_acc<T_out1>(best.high);
    }
}
