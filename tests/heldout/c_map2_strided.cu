/*@plan
nd = out.ndim
a = self if nd <= 6 else expand(self, out.shape)
b = other if nd <= 6 else expand(other, out.shape)
n1 = 1
a1 = 0
b1 = 0
n2 = 1
a2 = 0
b2 = 0
n3 = 1
a3 = 0
b3 = 0
n4 = 1
a4 = 0
b4 = 0
n5 = 1
a5 = 0
b5 = 0
n6 = 1
a6 = 0
b6 = 0
if nd > 6:
    n1 = out.numel
    a1 = 1
    b1 = 1
else:
    n1 = out.shape[-1] if nd >= 1 else 1
    a1 = (self.stride[-1] if self.shape[-1] != 1 else 0) if self.ndim >= 1 else 0
    b1 = (other.stride[-1] if other.shape[-1] != 1 else 0) if other.ndim >= 1 else 0
    n2 = out.shape[-2] if nd >= 2 else 1
    a2 = (self.stride[-2] if self.shape[-2] != 1 else 0) if self.ndim >= 2 else 0
    b2 = (other.stride[-2] if other.shape[-2] != 1 else 0) if other.ndim >= 2 else 0
    n3 = out.shape[-3] if nd >= 3 else 1
    a3 = (self.stride[-3] if self.shape[-3] != 1 else 0) if self.ndim >= 3 else 0
    b3 = (other.stride[-3] if other.shape[-3] != 1 else 0) if other.ndim >= 3 else 0
    n4 = out.shape[-4] if nd >= 4 else 1
    a4 = (self.stride[-4] if self.shape[-4] != 1 else 0) if self.ndim >= 4 else 0
    b4 = (other.stride[-4] if other.shape[-4] != 1 else 0) if other.ndim >= 4 else 0
    n5 = out.shape[-5] if nd >= 5 else 1
    a5 = (self.stride[-5] if self.shape[-5] != 1 else 0) if self.ndim >= 5 else 0
    b5 = (other.stride[-5] if other.shape[-5] != 1 else 0) if other.ndim >= 5 else 0
    n6 = out.shape[-6] if nd >= 6 else 1
    a6 = (self.stride[-6] if self.shape[-6] != 1 else 0) if self.ndim >= 6 else 0
    b6 = (other.stride[-6] if other.shape[-6] != 1 else 0) if other.ndim >= 6 else 0
@PLAN@
launch("map", grid=min(cdiv(out.numel, 256), 32 * sm_count), block=256, args=[a, b, out, @ARGS@n1, n2, n3, n4, n5, n6, a1, b1, a2, b2, a3, b3, a4, b4, a5, b5, a6, b6, out.numel])
@*/
#include <cuda/std/type_traits>

template <class T> constexpr bool whole = cuda::std::is_same<kg::acc_t<T>, long long>::value;

// A value in the promoted type, as the type that is computed in.
template <class S> __device__ kg::acc_t<T_out> take(S s) {
    if constexpr (whole<T_out>) {
        return static_cast<long long>(static_cast<T_out>(kg::to_acc(s)));
    } else {
        return kg::to_float(kg::from_float<T_out>(kg::to_float(s)));
    }
}

@F@

// Reads both inputs in place, whatever their strides are.
extern "C" __global__ void map(const T_self* __restrict__ left, const T_other* __restrict__ right, T_out* __restrict__ out, @PARAMS@long long n1, long long n2, long long n3, long long n4, long long n5, long long n6,
    long long a1, long long b1, long long a2, long long b2, long long a3, long long b3, long long a4, long long b4, long long a5, long long b5, long long a6, long long b6, long long n) {
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += 256ll * gridDim.x) {
        const long long i1 = i % n1;
        const long long r2 = i / n1;
        const long long i2 = r2 % n2;
        const long long r3 = r2 / n2;
        const long long i3 = r3 % n3;
        const long long r4 = r3 / n3;
        const long long i4 = r4 % n4;
        const long long r5 = r4 / n4;
        const long long i5 = r5 % n5;
        const long long i6 = r5 / n5;
        const kg::acc_t<T_out> a = take(left[i1 * a1 + i2 * a2 + i3 * a3 + i4 * a4 + i5 * a5 + i6 * a6]);
        const kg::acc_t<T_out> b = take(right[i1 * b1 + i2 * b2 + i3 * b3 + i4 * b4 + i5 * b5 + i6 * b6]);
        const auto y = f(a, b@CALL@);
        if constexpr (whole<T_out>) {
            out[i] = static_cast<T_out>(y);
        } else {
            out[i] = kg::from_float<T_out>(y);
        }
    }
}
