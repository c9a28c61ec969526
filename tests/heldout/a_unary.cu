/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
launch("map", grid=min(cdiv(n, 256 * vec), 8 * sm_count), block=256, args=[x, out, n @ARGS@])
@*/
struct alignas(VEC * sizeof(T_self)) PackIn { T_self v[VEC]; };
struct alignas(VEC * sizeof(T_out)) PackOut { T_out v[VEC]; };

__device__ __forceinline__ float f(float x @PARAMS@) {
  return @F@;
}
extern "C" __global__ void __launch_bounds__(256)
map(const T_self* __restrict__ in, T_out* __restrict__ out, long long n @PARAMS@) {
  const long long step = (long long)gridDim.x * blockDim.x;
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long packs = n / VEC;
  for (long long i = first; i < packs; i += step) {
    const PackIn p = reinterpret_cast<const PackIn*>(in)[i];
    PackOut q;
#pragma unroll
    for (int k = 0; k < VEC; ++k) q.v[k] = kg::from_float<T_out>(f(kg::to_float(p.v[k]) @CALL@));
    reinterpret_cast<PackOut*>(out)[i] = q;
  }
  for (long long i = packs * VEC + first; i < n; i += step) {
    out[i] = kg::from_float<T_out>(f(kg::to_float(in[i]) @CALL@));
  }
}
