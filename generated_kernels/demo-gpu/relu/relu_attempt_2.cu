/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
block = param("BLOCK", [128, 256, 512])
unroll = param("UNROLL", [2, 1, 4])
hint = param("HINT", [1, 0, 2])            # 1: streaming loads, 2: streaming stores too
launch("relu", grid=cdiv(cdiv(n, vec), block * unroll), block=block, args=[x, out, n])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };

__device__ __forceinline__ Pack load(const Pack* p) {
#if VEC > 1 && HINT >= 1
  const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(p));   // read once: evict first
  return *reinterpret_cast<const Pack*>(&raw);
#else
  return *p;
#endif
}

__device__ __forceinline__ void store(Pack* to, const Pack& p) {
#if VEC > 1 && HINT == 2
  __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(&p));
#else
  *to = p;
#endif
}

__device__ __forceinline__ T_self rectify(T_self x) {
  // false for NaN, which therefore stays what it is
  return kg::to_float(x) <= 0.0f ? kg::from_float<T_self>(0.0f) : x;
}

__device__ __forceinline__ void rectify_pack(Pack& p) {
#pragma unroll
  for (int k = 0; k < VEC; ++k) p.v[k] = rectify(p.v[k]);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
relu(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
  const long long packs = n / VEC;
  const long long first = static_cast<long long>(blockIdx.x) * (BLOCK * UNROLL);
  const Pack* __restrict__ in = reinterpret_cast<const Pack*>(x) + first;
  Pack* __restrict__ to = reinterpret_cast<Pack*>(y) + first;
  const int t = static_cast<int>(threadIdx.x);

  if (first + BLOCK * UNROLL <= packs) {      // a full block: no bounds checks
    Pack p[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) p[u] = load(in + (t + u * BLOCK));
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      rectify_pack(p[u]);
      store(to + (t + u * BLOCK), p[u]);
    }
  } else {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const int i = t + u * BLOCK;
      if (first + i < packs) {
        Pack p = load(in + i);
        rectify_pack(p);
        store(to + i, p);
      }
    }
  }

  if (blockIdx.x == gridDim.x - 1) {          // fewer than VEC elements are left over
    const long long i = packs * VEC + t;
    if (i < n) y[i] = rectify(x[i]);
  }
}
