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
launch("fold", grid=outs, block=128, args=[x, out, s0, s1, s2, s3, s4, s5, s6, s7, mask])
@*/
#include <cuda/std/type_traits>

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

extern "C" __global__ void fold(const T_self* __restrict__ in, T_out* __restrict__ out, long long s0, long long s1, long long s2, long long s3, long long s4, long long s5, long long s6, long long s7, int mask) {
    const Slices slices = {{s0, s1, s2, s3, s4, s5, s6, s7}, mask};
    const long long count = slices.count();
    const long long o = blockIdx.x;
    const T_self* slice = in + slices.place(o, 0);
    const int t = threadIdx.x;
    __shared__ float tree[128];
    float top = -INFINITY;
    bool poisoned = false;
    for (long long k = t; k < count; k += 128) {
        const float x = kg::to_float(slice[slices.place(k, 1)]);
        poisoned = poisoned || x != x;
        top = fmaxf(top, x);
    }
    tree[t] = poisoned ? NAN : top;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) {
            const float a = tree[t];
            const float b = tree[t + half];
            tree[t] = a != a ? a : b != b ? b : fmaxf(a, b);
        }
        __syncthreads();
    }
    top = tree[0];
    __syncthreads();
    const float shift = isfinite(top) ? top : 0.0f;
    float sum = 0.0f;
    for (long long k = t; k < count; k += 128) {
        sum += expf(kg::to_float(slice[slices.place(k, 1)]) - shift);
    }
    tree[t] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) {
            tree[t] += tree[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        out[o] = kg::from_float<T_out>(shift + logf(tree[0]));
    }
}
