/*@plan
n = out.numel
@PLAN@
launch("map3", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, c, out, n @ARGS@])
@*/
#include <cuda/std/type_traits>
using A = kg::acc_t<T_out>;
using SCALAR = cuda::std::conditional_t<cuda::std::is_integral_v<T_out>, long long, float>;
constexpr bool WHOLE = cuda::std::is_integral_v<T_out>;
template <class To, class From>
__device__ __forceinline__ To convert(From x) {
  if constexpr (cuda::std::is_same_v<To, From>) return x;
  else if constexpr (cuda::std::is_same_v<To, bool>) return kg::to_acc(x) != 0;
  else if constexpr (cuda::std::is_integral_v<To> && cuda::std::is_integral_v<From>) return static_cast<To>(x);
  else if constexpr (cuda::std::is_integral_v<To>) return static_cast<To>(static_cast<long long>(kg::to_float(x)));
  else return kg::from_float<To>(kg::to_float(x));
}
template <class TA, class TB, class TC>
__device__ __forceinline__ T_out f(TA a, TB b, TC c @PARAMS@) {
  @F@
}
extern "C" __global__ void __launch_bounds__(256)
map3(const @TA@* __restrict__ a, const @TB@* __restrict__ b, const @TC@* __restrict__ c, T_out* __restrict__ out, long long n @PARAMS@) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    out[i] = f(a[i], b[i], c[i] @CALL@);
  }
}
