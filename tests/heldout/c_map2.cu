/*@plan
a = expand(self, out.shape)
b = expand(@OTHER@, out.shape)
n = out.numel
@PLAN@
launch("map", grid=cdiv(n, 256), block=256, args=[a, b, out, @ARGS@n])
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

extern "C" __global__ void map(const T_self* __restrict__ left, const T_@OTHER@* __restrict__ right, T_out* __restrict__ out, @PARAMS@long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    const kg::acc_t<T_out> a = take(left[i]);
    const kg::acc_t<T_out> b = take(right[i]);
    const auto y = f(a, b@CALL@);
    if constexpr (whole<T_out>) {
        out[i] = static_cast<T_out>(y);
    } else {
        out[i] = kg::from_float<T_out>(y);
    }
}
