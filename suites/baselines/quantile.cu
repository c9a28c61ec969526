// Baseline of quantile: the bits of the element at a rank, from the highest on, by counting.
/*@plan
x = contiguous(self)
positions = contiguous(q)
# x is [outer, count, inner], its slices lie along count.
outer, count, inner = 1, x.numel, 1
if dim != None and x.ndim > 0:
    at = dim if dim >= 0 else dim + x.ndim
    count = x.shape[at]
    for i in range(x.ndim):
        if i < at:
            outer *= x.shape[i]
        elif i > at:
            inner *= x.shape[i]
n = outer * inner
way = 4
if interpolation == "linear":
    way = 0
elif interpolation == "lower":
    way = 1
elif interpolation == "higher":
    way = 2
elif interpolation == "midpoint":
    way = 3
# Long slices are shared by 32 lanes.
lanes = 32 if count > 32 else 1
launch("quantile_of", grid=cdiv(out.numel, 128 // lanes), block=(lanes, 128 // lanes),
       args=[x, positions, out, out.numel, n, count, inner, way])
@*/

struct Slice {
    const T_self* x;
    long long count, inner;
    __device__ float operator[](long long r) const { return kg::to_float(x[r * inner]); }
};

// Unsigned numbers in the order of the elements.
__device__ __forceinline__ unsigned key(float x) {
    const unsigned bits = __float_as_uint(x + 0.0f);  // -0 becomes 0
    return bits >> 31 ? ~bits : bits | 1u << 31;
}
__device__ __forceinline__ float of_key(unsigned key) {
    return __uint_as_float(key >> 31 ? key ^ 1u << 31 : ~key);
}

__device__ long long lane_sum(long long value) {
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

// The key of the element at a place of the order.
__device__ unsigned key_at(const Slice& x, long long place) {
    unsigned prefix = 0;
    for (int bit = 31; bit >= 0; --bit) {
        long long zeros = 0;
        for (long long r = threadIdx.x; r < x.count; r += blockDim.x) {
            zeros += key(x[r]) >> bit == prefix >> bit;
        }
        zeros = lane_sum(zeros);
        if (place >= zeros) {
            place -= zeros;
            prefix |= 1u << bit;
        }
    }
    return prefix;
}

__device__ float quantile(const Slice& x, float q, int way) {
    long long found = 0;
    for (long long r = threadIdx.x; r < x.count; r += blockDim.x) {
        found += x[r] != x[r];
    }
    if (lane_sum(found) > 0) {
        return NAN;
    }
    const float rank = q * static_cast<float>(x.count - 1);
    const float lower = way == 4 ? rintf(rank) : way == 2 ? ceilf(rank) : floorf(rank);
    const float below = of_key(key_at(x, static_cast<long long>(lower)));
    if (way == 1 || way == 2 || way == 4) {
        return below;
    }
    const float upper = ceilf(rank);
    const float above = upper == lower ? below : of_key(key_at(x, static_cast<long long>(upper)));
    const float weight = way == 3 ? 0.5f : rank - lower;
    const float distance = above - below;
    return weight < 0.5f ? below + weight * distance : above - distance * (1.0f - weight);
}

extern "C" __global__ void quantile_of(const T_self* __restrict__ x, const T_q* __restrict__ q,
    T_out* __restrict__ out, long long total, long long n, long long count, long long inner, int way) {
    const long long o = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (o >= total) {
        return;  // All lanes of the slice leave.
    }
    const long long slice = o % n;
    const Slice at = {x + slice / inner * count * inner + slice % inner, count, inner};
    const float value = quantile(at, kg::to_float(q[o / n]), way);
    if (threadIdx.x == 0) {
        out[o] = kg::from_float<T_out>(value);
    }
}
