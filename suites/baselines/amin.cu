// Baseline of amin: lanes keep their extreme element, then compare.
/*@plan
x = contiguous(self)
# Neighbouring dimensions as groups: kept a, folded r1, kept b, folded r2, kept c.
a, r1, b, r2, c = 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    folded = len(dim) == 0 or i in dim or i - x.ndim in dim
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
after = r2 * c
first, second, option = out, None, f32(0)
least = (256, 64)
#include "fold.plan"
if not folds:
    # Long slices are shared by 32 lanes.
    lanes = 32 if count > 32 else 1
    launch("extreme", grid=cdiv(n, 128 // lanes), block=(lanes, 128 // lanes),
           args=[x, out, n, r1, b, r2, c])
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
#define BEYOND(a, b) ((a) < (b))
#include "fold_extreme.cuh"

// The most extreme element so far and its index; NaN is beyond every number.
struct Best {
    Acc value;
    long long index;  // -1: none yet
    __device__ void add(Acc other, long long at) {
        const bool beyond = index < 0 || other < value || (other != other && value == value);
        // Of equal elements the first.
        const bool same = other == value || (other != other && value != value);
        if (at >= 0 && (beyond || (same && at < index))) {
            value = other;
            index = at;
        }
    }
};

extern "C" __global__ void extreme(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long r1, long long b, long long r2,
    long long c) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    const Slice at(o, r1, b, r2, c);
    const long long count = r1 * r2;
    Best best{0, -1};
    for (long long r = threadIdx.x; r < count; r += blockDim.x) {
        best.add(kg::to_acc(x[at[r]]), r);
    }
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        const Acc value = __shfl_xor_sync(0xffffffffu, best.value, offset);
        const long long index = __shfl_xor_sync(0xffffffffu, best.index, offset);
        best.add(value, index);
    }
    if (threadIdx.x == 0) {
        out[o] = kg::from_acc<T_out>(best.value);
    }
}
