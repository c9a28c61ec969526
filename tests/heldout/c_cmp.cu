/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
ka = 2 if self.dtype == "f32" or self.dtype == "f16" or self.dtype == "bf16" else (0 if self.dtype == "bool" else 1)
kb = 2 if other.dtype == "f32" or other.dtype == "f16" or other.dtype == "bf16" else (0 if other.dtype == "bool" else 1)
level = (self.ndim == 0) == (other.ndim == 0)
first = 0
both = 0
if ka != kb:
    first = 1 if ka > kb else 0
elif not level:
    first = 1 if self.ndim > 0 else 0
elif self.dtype == other.dtype:
    first = 1
elif self.itemsize == other.itemsize:
    both = 1
else:
    first = 1 if self.itemsize > other.itemsize else 0
define("BOTH", both)
define("FIRST", first)
launch("compare", grid=cdiv(n, 256), block=256, args=[a, b, out, n])
@*/
#include <cuda/std/type_traits>

// The type of the comparison: that of self, of other, or f32 for f16 beside bf16.
#if BOTH
using Common = float;
#elif FIRST
using Common = T_self;
#else
using Common = T_other;
#endif
using Acc = kg::acc_t<Common>;

template <class S> __device__ Acc take(S s) {
    if constexpr (cuda::std::is_same<Acc, long long>::value) {
        return static_cast<long long>(static_cast<Common>(kg::to_acc(s)));
    } else {
        return kg::to_float(kg::from_float<Common>(kg::to_float(s)));
    }
}

extern "C" __global__ void compare(const T_self* __restrict__ left, const T_other* __restrict__ right, bool* __restrict__ out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    const Acc a = take(left[i]);
    const Acc b = take(right[i]);
    out[i] = @F@;
}
