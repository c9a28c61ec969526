/*@plan
c = expand(condition, out.shape)
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("choose", grid=cdiv(n, 256), block=256, args=[c, a, b, out, n])
@*/
#include <cuda/std/type_traits>

// A value in the promoted type.
template <class S> __device__ T_out take(S s) {
    if constexpr (cuda::std::is_same<S, T_out>::value) {
        return s;
    } else if constexpr (cuda::std::is_same<kg::acc_t<T_out>, long long>::value) {
        return static_cast<T_out>(kg::to_acc(s));
    } else {
        return kg::from_float<T_out>(kg::to_float(s));
    }
}

extern "C" __global__ void choose(const T_condition* __restrict__ c, const T_self* __restrict__ left, const T_other* __restrict__ right, T_out* __restrict__ out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    const bool yes = static_cast<bool>(c[i]);
    const T_out a = take(left[i]);
    const T_out b = take(right[i]);
    out[i] = yes ? a : b;
}
