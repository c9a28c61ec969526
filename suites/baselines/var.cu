// Baseline of var: the mean first, then the squared distances from it.
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
correct = correction if has(correction) else 1.0
after = r2 * c * r3 * d
first, second, option = out, None, correct
least = (256, 64)
#include "fold.plan"
if not folds:
    # Long slices are shared by 32 lanes.
    lanes = 32 if count > 32 else 1
    launch("moments", grid=cdiv(n, 128 // lanes), block=(lanes, 128 // lanes),
           args=[x, out, n, r1, b, r2, c, r3, d, correct])
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

using First = T_out;
using Second = T_out;

__device__ void store(First* out, Second* means, long long o, float var, float mean) {
    out[o] = kg::from_float<T_out>(var);
}
#include "fold_moments.cuh"

extern "C" __global__ void moments(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long r1, long long b, long long r2,
    long long c, long long r3, long long d, float correction) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    const Slice at(o, r1, b, r2, c, r3, d);
    const long long count = r1 * r2 * r3;
    float sum = 0.0f;
    for (long long r = threadIdx.x; r < count; r += blockDim.x) {
        sum += kg::to_float(x[at[r]]);
    }
    const float mean = lane_sum(sum) / static_cast<float>(count);
    float squares = 0.0f;
    for (long long r = threadIdx.x; r < count; r += blockDim.x) {
        const float distance = kg::to_float(x[at[r]]) - mean;
        squares += distance * distance;
    }
    squares = lane_sum(squares);
    const float var = squares / fmaxf(static_cast<float>(count) - correction, 0.0f);
    if (threadIdx.x == 0) {
        store(out, nullptr, o, var, mean);
    }
}
