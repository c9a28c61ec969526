/*@plan
x = contiguous(self)
n = x.numel
launch("convert", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/
#include <cuda/std/type_traits>

template <class T> constexpr bool whole = cuda::std::is_same<kg::acc_t<T>, long long>::value;

template <class S> __device__ T_out cast(S s) {
    if constexpr (cuda::std::is_same<S, T_out>::value) {
        return s;
    } else if constexpr (cuda::std::is_same<T_out, bool>::value) {
        if constexpr (whole<S>) {
            return kg::to_acc(s) != 0;
        } else {
            return kg::to_float(s) != 0.0f;
        }
    } else if constexpr (whole<T_out>) {
        if constexpr (whole<S>) {
            return static_cast<T_out>(kg::to_acc(s));
        } else {
            return static_cast<T_out>(static_cast<long long>(kg::to_float(s)));
        }
    } else if constexpr (whole<S>) {
        return kg::from_float<T_out>(static_cast<float>(kg::to_acc(s)));
    } else {
        return kg::from_float<T_out>(kg::to_float(s));
    }
}

extern "C" __global__ void convert(const T_self* __restrict__ in, T_out* __restrict__ out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        out[i] = cast(in[i]);
    }
}
