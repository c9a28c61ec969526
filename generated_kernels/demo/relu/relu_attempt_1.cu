/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
block = param("BLOCK", [256, 512])
launch("relu", grid=min(cdiv(n, vec * block), 16 * sm_count), block=block, args=[x, out, n])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };

__device__ __forceinline__ T_out relu_one(T_self x) {
  const float f = kg::to_float(x);
  return kg::from_float<T_out>(f < 0.0f ? 0.0f : f);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
relu(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
  const long long tid = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * BLOCK;
  const long long packs = n / VEC;
  const Pack* in = reinterpret_cast<const Pack*>(x);
  Pack* to = reinterpret_cast<Pack*>(y);
  for (long long i = tid; i < packs; i += step) {
    Pack p = in[i];
#pragma unroll
    for (int k = 0; k < VEC; ++k) p.v[k] = relu_one(p.v[k]);
    to[i] = p;
  }
  for (long long i = packs * VEC + tid; i < n; i += step) y[i] = relu_one(x[i]);
}
