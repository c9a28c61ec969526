/*@plan
a = expand(self, out.shape)
b = expand(tensor1, out.shape)
c = expand(tensor2, out.shape)
n = out.numel
launch("map", grid=cdiv(n, 256), block=256, args=[a, b, c, out, f32(value), i32(value), n])
@*/
#include <cuda/std/type_traits>

template <class S> __device__ kg::acc_t<T_out> take(S s) {
    if constexpr (cuda::std::is_same<kg::acc_t<T_out>, long long>::value) {
        return static_cast<long long>(static_cast<T_out>(kg::to_acc(s)));
    } else {
        return kg::to_float(kg::from_float<T_out>(kg::to_float(s)));
    }
}

extern "C" __global__ void map(const T_self* __restrict__ first, const T_tensor1* __restrict__ second, const T_tensor2* __restrict__ third,
                               T_out* __restrict__ out, float value, int units, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    const auto a = take(first[i]);
    const auto b = take(second[i]);
    const auto c = take(third[i]);
    if constexpr (cuda::std::is_same<kg::acc_t<T_out>, long long>::value) {
        out[i] = static_cast<T_out>(a + units * b * c);
    } else {
        out[i] = kg::from_float<T_out>(a + value * b @TIMES@ c);
    }
}
