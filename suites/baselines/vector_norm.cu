// Baseline of vector_norm: lanes collect powers, counts or extremes in f32.
/*@plan
x = contiguous(self)
# Neighbouring dimensions as groups: kept a, folded r1, kept b, folded r2, kept c.
a, r1, b, r2, c = 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    folded = dim is None or len(dim) == 0 or i in dim or i - x.ndim in dim
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
# 0 counts, 1 and 2 are usual, 3 and 4 are the ends, 5 is the general formula.
kind = 5
if ord == 0:
    kind = 0
elif ord == 1:
    kind = 1
elif ord == 2:
    kind = 2
elif ord > 1000000.0:
    kind = 3
elif ord < -1000000.0:
    kind = 4
# Long slices are shared by 32 lanes.
lanes = 32 if count > 32 else 1
launch("vector_norm", grid=cdiv(n, 128 // lanes), block=(lanes, 128 // lanes),
       args=[x, out, n, r1, b, r2, c, kind, f32(ord)])
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

enum Order { COUNT, ONE, TWO, LARGEST, SMALLEST, OTHER };

// The part of a norm that a lane collects, and what becomes of it.
struct Norm {
    int kind;
    float order, value;
    __device__ Norm(int kind, float order)
        : kind(kind), order(order), value(kind == SMALLEST ? INFINITY : 0.0f) {}
    // Unlike fmaxf and fminf these keep NaN.
    static __device__ float larger(float a, float b) { return a > b || a != a ? a : b; }
    static __device__ float smaller(float a, float b) { return a < b || a != a ? a : b; }
    __device__ void add(float x) {
        const float size = fabsf(x);
        switch (kind) {
        case COUNT: value += x != 0.0f; break;
        case ONE: value += size; break;
        case TWO: value += size * size; break;
        case LARGEST: value = larger(size, value); break;
        case SMALLEST: value = smaller(size, value); break;
        default: value += powf(size, order);
        }
    }
    __device__ float result() {
        for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, value, offset);
            if (kind == LARGEST) {
                value = larger(other, value);
            } else if (kind == SMALLEST) {
                value = smaller(other, value);
            } else {
                value += other;
            }
        }
        return kind == TWO ? sqrtf(value) : kind == OTHER ? powf(value, 1.0f / order) : value;
    }
};

extern "C" __global__ void vector_norm(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long r1, long long b, long long r2,
    long long c, int kind, float order) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= n) {
        return;  // All lanes of the slice leave.
    }
    const Slice at(o, r1, b, r2, c);
    const long long count = r1 * r2;
    Norm norm(kind, order);
    for (long long r = threadIdx.x; r < count; r += blockDim.x) {
        norm.add(kg::to_float(x[at[r]]));
    }
    const float value = norm.result();
    if (threadIdx.x == 0) {
        out[o] = kg::from_float<T_out>(value);
    }
}
