/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
define("TANH", 1 if approximate == "tanh" else 0)
block = param("BLOCK", [256, 128, 512])
launch("gelu", grid=min(cdiv(n, vec * block), 16 * sm_count), block=block, args=[x, out, n])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };

__device__ __forceinline__ T_out activate(T_self a) {
  const float x = kg::to_float(a);
#if TANH
  const float x3 = x * x * x;
  const float g = tanhf(0.7978845608028654f * (x + 0.044715f * x3));
#else
  const float g = erff(x * 0.7071067811865476f);
#endif
  return kg::from_float<T_out>(0.5f * x * (1.0f + g));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
gelu(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
  const long long packs = n / VEC;
  const long long first = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * BLOCK;
  const Pack* in = reinterpret_cast<const Pack*>(x);
  Pack* to = reinterpret_cast<Pack*>(y);
  for (long long i = first; i < packs; i += step) {
    Pack p = in[i];
#pragma unroll
    for (int k = 0; k < VEC; ++k) p.v[k] = activate(p.v[k]);
    to[i] = p;
  }
  // fewer than VEC elements are left
  const long long t = packs * VEC + first;
  if (t < n) y[t] = activate(x[t]);
}
