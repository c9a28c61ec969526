// Baseline of mean: f32 accumulators, one division.
/*@plan
x = contiguous(self)
# Neighbouring dimensions as groups: kept a, folded r1, kept b, folded r2, kept c, folded r3, kept d.
a, r1, b, r2, c, r3, d = 1, 1, 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    folded = dim is None or len(dim) == 0 or i in dim or i - x.ndim in dim
    extent = x.shape[i]
    if extent != 1:
        require(not (folded and group == 6), "at most three separate groups of folded dimensions")
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
        elif group == 4:
            c *= extent
        elif group == 5:
            r3 *= extent
        else:
            d *= extent
n = a * b * c * d
count = r1 * r2 * r3
after = r2 * c * r3 * d
first, second, option = out, None, f32(0)
least = (256, 64)
#include "fold.plan"
if not folds:
    # Long slices are shared by 32 lanes.
    lanes = 32 if count > 32 else 1
    launch("mean", grid=cdiv(n, 128 // lanes), block=(lanes, 128 // lanes),
           args=[x, out, n, r1, b, r2, c, r3, d])
@*/

// x is [a, r1, b, r2, c, r3, d]; output o counts through [a, b, c, d], element r of its slice
// through [r1, r2, r3].
struct Slice {
    long long base, r2, r3, step1, step2, step3;
    __device__ Slice(long long o, long long r1, long long b, long long r2, long long c, long long r3,
                     long long d)
        : r2(r2), r3(r3), step1(b * r2 * c * r3 * d), step2(c * r3 * d), step3(d) {
        base = o / d / c / b * r1 * step1 + o / d / c % b * r2 * step2 + o / d % c * r3 * step3 + o % d;
    }
    __device__ long long operator[](long long r) const {
        return base + r / r3 / r2 * step1 + r / r3 % r2 * step2 + r % r3 * step3;
    }
};

// Sums over the lanes of a slice.
__device__ float lane_sum(float value) {
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

__device__ void store(T_out* __restrict__ out, long long o, long long n, long long count, float sum) {
    out[o] = kg::from_float<T_out>(sum / static_cast<float>(count));
}

using Acc = float;
__device__ __forceinline__ auto term(T_self x) { return kg::to_acc(x); }
#include "fold_sum.cuh"

using First = T_out;
using Second = T_out;
__device__ void finish(const Fold& fold, long long o, long long n, long long count, First* first, Second* second,
                       float option) {
    store(first, o, n, count, fold.sum);
}
#include "fold.cuh"

extern "C" __global__ void mean(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long r1, long long b, long long r2,
    long long c, long long r3, long long d) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    const Slice at(o, r1, b, r2, c, r3, d);
    const long long count = r1 * r2 * r3;
    float sum = 0.0f;
    for (long long r = threadIdx.x; r < count; r += blockDim.x) {
        sum += static_cast<float>(kg::to_acc(x[at[r]]));
    }
    sum = lane_sum(sum);
    if (threadIdx.x == 0) {
        store(out, o, n, count, sum);
    }
}
