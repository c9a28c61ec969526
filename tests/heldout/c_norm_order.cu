/*@plan
x = contiguous(self)
mask = 0
@DIMS@
s0 = x.shape[0] if x.ndim > 0 else 1
s1 = x.shape[1] if x.ndim > 1 else 1
s2 = x.shape[2] if x.ndim > 2 else 1
s3 = x.shape[3] if x.ndim > 3 else 1
s4 = x.shape[4] if x.ndim > 4 else 1
s5 = x.shape[5] if x.ndim > 5 else 1
s6 = x.shape[6] if x.ndim > 6 else 1
s7 = x.shape[7] if x.ndim > 7 else 1
outs = @OUT@.numel
@PLAN@
launch("fold", grid=outs, block=128, args=[x, out, order, f32(ord_), s0, s1, s2, s3, s4, s5, s6, s7, mask])
@*/
#include <cuda/std/type_traits>

// order: 0 the p-th, 1 Inf, 2 -Inf, 3 zero, 4 two, 5 one
__device__ float term(float x, int order, float p) {
    x = fabsf(x);
    return order == 3 ? (x != 0.0f ? 1.0f : 0.0f) : order == 4 ? x * x : order == 0 ? powf(x, p) : x;
}
__device__ float join(float a, float b, int order) {
    if (order == 1 || order == 2) {
        return a != a ? a : b != b ? b : order == 1 ? fmaxf(a, b) : fminf(a, b);
    }
    return a + b;
}

// The slices: which dimensions are folded is a mask.
struct Slices {
    long long shape[8];
    int mask;
    __device__ long long count() const {
        long long n = 1;
        for (int d = 0; d < 8; ++d) {
            n *= mask >> d & 1 ? shape[d] : 1;
        }
        return n;
    }
    // Where the dimensions with `folded` put element `k`.
    __device__ long long place(long long k, int folded) const {
        long long stride = 1;
        long long at = 0;
        for (int d = 7; d >= 0; --d) {
            if ((mask >> d & 1) == folded) {
                at += k % shape[d] * stride;
                k /= shape[d];
            }
            stride *= shape[d];
        }
        return at;
    }
};

extern "C" __global__ void fold(const T_self* __restrict__ in, T_out* __restrict__ out, int order, float p, long long s0, long long s1, long long s2, long long s3, long long s4, long long s5, long long s6, long long s7, int mask) {
    const Slices slices = {{s0, s1, s2, s3, s4, s5, s6, s7}, mask};
    const long long count = slices.count();
    const long long o = blockIdx.x;
    const T_self* slice = in + slices.place(o, 0);
    const int t = threadIdx.x;
    __shared__ float tree[128];
    float mine = order == 2 ? INFINITY : 0.0f;
    for (long long k = t; k < count; k += 128) {
        mine = join(mine, term(kg::to_float(slice[slices.place(k, 1)]), order, p), order);
    }
    tree[t] = mine;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) {
            tree[t] = join(tree[t], tree[t + half], order);
        }
        __syncthreads();
    }
    if (t == 0) {
        const float all = tree[0];
        const float y = order == 4 ? sqrtf(all) : order == 0 ? powf(all, 1.0f / p) : all;
        out[o] = kg::from_float<T_out>(y);
    }
}
