/*@plan
a = expand(self, out.shape)
b = expand(@OTHER@, out.shape)
n = out.numel
whole = out.dtype == "i64" or out.dtype == "i32" or out.dtype == "i16" or out.dtype == "i8" or out.dtype == "u8" or out.dtype == "bool"
launch("binary", grid=min(cdiv(n, 256), 65535), block=256, args=[a, b, out, n @ARGS@])
@*/
#include <cuda/std/type_traits>
template <class To, class From>
__device__ __forceinline__ To convert(From x) {
  if constexpr (cuda::std::is_same_v<To, From>) {
    return x;
  } else if constexpr (cuda::std::is_same_v<To, bool>) {
    return kg::to_float(x) != 0.0f;
  } else if constexpr (cuda::std::is_integral_v<To>) {
    return static_cast<To>(kg::to_acc(x));
  } else {
    return kg::from_float<To>(kg::to_float(x));
  }
}
using T = T_out;
using SCALAR = cuda::std::conditional_t<cuda::std::is_integral_v<T_out>, long long, float>;
using A = kg::acc_t<T_out>;
constexpr bool WHOLE = cuda::std::is_integral_v<T_out>;

template <class N>
__device__ __forceinline__ N f(N x, N y @PARAMS@) {
@F@
}
extern "C" __global__ void __launch_bounds__(256)
binary(const T_self* __restrict__ a, const @T_OTHER@* __restrict__ b, T_out* __restrict__ out, long long n @PARAMS@) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    const A x = kg::to_acc(convert<T>(a[i]));
    const A y = kg::to_acc(convert<T>(b[i]));
    out[i] = kg::from_acc<T_out>(f(x, y @CALL@));
  }
}
