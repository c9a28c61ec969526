/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
vec = define("VEC", 16 // out.itemsize if a.align >= 16 and b.align >= 16 else 1)
block = param("BLOCK", [256, 512])
launch("add", grid=min(cdiv(n, vec * block), 16 * sm_count), block=block, args=[a, b, out, alpha, n])
@*/
struct alignas(VEC * sizeof(T_out)) Pack { T_out v[VEC]; };

extern "C" __global__ void __launch_bounds__(BLOCK)
add(const T_self* __restrict__ a, const T_other* __restrict__ b, T_out* __restrict__ y, float alpha, long long n) {
  const long long tid = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * BLOCK;
  const long long packs = n / VEC;
  const Pack* pa = reinterpret_cast<const Pack*>(a);
  const Pack* pb = reinterpret_cast<const Pack*>(b);
  Pack* to = reinterpret_cast<Pack*>(y);
  for (long long i = tid; i < packs; i += step) {
    const Pack u = pa[i];
    const Pack v = pb[i];
    Pack r;
#pragma unroll
    for (int k = 0; k < VEC; ++k)
      r.v[k] = kg::from_float<T_out>(kg::to_float(u.v[k]) + alpha * kg::to_float(v.v[k]));
    to[i] = r;
  }
  for (long long i = packs * VEC + tid; i < n; i += step)
    y[i] = kg::from_float<T_out>(kg::to_float(a[i]) + alpha * kg::to_float(b[i]));
}
