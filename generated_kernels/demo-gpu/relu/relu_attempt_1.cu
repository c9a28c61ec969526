/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
block = param("BLOCK", [256, 512, 128])
unroll = param("UNROLL", [4, 2, 8, 1])
launch("relu", grid=cdiv(cdiv(n, vec), block * unroll), block=block, args=[x, out, n])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };

__device__ __forceinline__ T_self rectify(T_self x) {
  // false for NaN, which therefore stays what it is
  return kg::to_float(x) <= 0.0f ? kg::from_float<T_self>(0.0f) : x;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
relu(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
  const long long packs = n / VEC;
  const Pack* __restrict__ in = reinterpret_cast<const Pack*>(x);
  Pack* __restrict__ to = reinterpret_cast<Pack*>(y);
  const long long first = static_cast<long long>(blockIdx.x) * (BLOCK * UNROLL);
  const long long base = first + threadIdx.x;

  if (first + BLOCK * UNROLL <= packs) {      // a full block: no bounds checks
    Pack p[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) p[u] = in[base + u * BLOCK];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
#pragma unroll
      for (int k = 0; k < VEC; ++k) p[u].v[k] = rectify(p[u].v[k]);
      to[base + u * BLOCK] = p[u];
    }
  } else {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const long long i = base + u * BLOCK;
      if (i < packs) {
        Pack p = in[i];
#pragma unroll
        for (int k = 0; k < VEC; ++k) p.v[k] = rectify(p.v[k]);
        to[i] = p;
      }
    }
  }

  if (blockIdx.x == gridDim.x - 1) {          // fewer than VEC elements are left over
    const long long i = packs * VEC + threadIdx.x;
    if (i < n) y[i] = rectify(x[i]);
  }
}
