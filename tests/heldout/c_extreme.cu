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
launch("fold", grid=outs, block=128, args=[x, @ARGS@s0, s1, s2, s3, s4, s5, s6, s7, mask])
@*/
#include <cuda/std/type_traits>

#define KEY(s) kg::to_acc(s)
using Key = kg::acc_t<T_self>;

// Whether a comes before b; NaN comes before every number.
__device__ bool better(Key a, Key b) { return a @LESS@ b || (a != a && b == b); }

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

extern "C" __global__ void fold(const T_self* __restrict__ in, @OUTS@long long s0, long long s1, long long s2, long long s3, long long s4, long long s5, long long s6, long long s7, int mask) {
    const Slices slices = {{s0, s1, s2, s3, s4, s5, s6, s7}, mask};
    const long long count = slices.count();
    const long long o = blockIdx.x;
    const T_self* slice = in + slices.place(o, 0);
    const int t = threadIdx.x;
    __shared__ Key keys[128];
    __shared__ long long places[128];
    long long at = -1;
    Key best = 0;
    for (long long k = t; k < count; k += 128) {
        const Key key = KEY(slice[slices.place(k, 1)]);
        if (at < 0 || better(key, best)) {
            best = key;
            at = k;
        }
    }
    keys[t] = best;
    places[t] = at;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half && places[t + half] >= 0 && (places[t] < 0 || better(keys[t + half], keys[t]))) {
            keys[t] = keys[t + half];
            places[t] = places[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        const long long place = places[0];
        @STORE@
    }
}
