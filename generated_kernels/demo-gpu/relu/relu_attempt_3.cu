/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
inf = define("INF_BITS", 31744 if x.dtype == "f16" else 32640)   # 16-bit +Inf: f16 0x7c00, bf16 0x7f80
block = param("BLOCK", [256, 128, 512])
unroll = param("UNROLL", [1, 2])
hint = param("HINT", [1, 0])               # 1: streaming loads
loop = param("LOOP", [1, 0])               # 1: one wave of blocks that prefetch, 0: a block per chunk
chunks = cdiv(cdiv(n, vec), block * unroll)
if loop == 1:
    launch("relu_loop", grid=min(chunks, sm_count * (2048 // (block * unroll))), block=block, args=[x, out, n])
else:
    launch("relu_once", grid=chunks, block=block, args=[x, out, n])
@*/
#if VEC > 1
typedef uint4 Unit;                           // 16 bytes
#else
typedef T_self Unit;                          // one element
#endif

__device__ __forceinline__ T_self rectify_one(T_self x) {
  // false for NaN, which therefore stays what it is
  return kg::to_float(x) <= 0.0f ? kg::from_float<T_self>(0.0f) : x;
}

#if VEC > 1
__device__ __forceinline__ unsigned rectify_word(unsigned w) {
  if (sizeof(T_self) == 2) {
    // Two elements. Bit 15 of each half of `nan`: its magnitude is above that of Inf.
    const unsigned nan = (w & 0x7fff7fffu) + (0x7fffu - INF_BITS) * 0x00010001u;
    const unsigned kill = w & ~nan & 0x80008000u;         // negative and not NaN
    const unsigned mask = (kill << 1) - (kill >> 15);     // 0x8000 -> 0xffff in each half
    return w & ~mask;
  }
  const float f = *reinterpret_cast<const float*>(&w);
  return f <= 0.0f ? 0u : w;
}

__device__ __forceinline__ Unit rectify(Unit p) {
  p.x = rectify_word(p.x);
  p.y = rectify_word(p.y);
  p.z = rectify_word(p.z);
  p.w = rectify_word(p.w);
  return p;
}
#else
__device__ __forceinline__ Unit rectify(Unit p) { return rectify_one(p); }
#endif

__device__ __forceinline__ Unit load(const Unit* p) {
#if VEC > 1 && HINT == 1
  return __ldcs(p);                           // read once: evict first
#else
  return *p;
#endif
}

// Fewer than VEC elements are left over: the last block takes them.
__device__ __forceinline__ void leftover(const T_self* __restrict__ x, T_out* __restrict__ y,
                                         long long n) {
  if (VEC > 1 && blockIdx.x == gridDim.x - 1) {
    const long long i = n / VEC * VEC + threadIdx.x;
    if (i < n) y[i] = rectify_one(x[i]);
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK, 2048 / (BLOCK * UNROLL))
relu_loop(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
  const long long units = n / VEC;
  const long long stride = static_cast<long long>(gridDim.x) * (BLOCK * UNROLL);
  const Unit* __restrict__ in = reinterpret_cast<const Unit*>(x);
  Unit* __restrict__ to = reinterpret_cast<Unit*>(y);

  long long at = static_cast<long long>(blockIdx.x) * (BLOCK * UNROLL) + threadIdx.x;
  Unit now[UNROLL] = {};
#pragma unroll
  for (int u = 0; u < UNROLL; ++u)
    if (at + u * BLOCK < units) now[u] = load(in + at + u * BLOCK);

  while (at < units) {
    const long long then = at + stride;
    Unit next[UNROLL] = {};
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)          // in flight while the current units are stored
      if (then + u * BLOCK < units) next[u] = load(in + then + u * BLOCK);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      if (at + u * BLOCK < units) to[at + u * BLOCK] = rectify(now[u]);
      now[u] = next[u];
    }
    at = then;
  }
  leftover(x, y, n);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
relu_once(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
  const long long units = n / VEC;
  const long long first = static_cast<long long>(blockIdx.x) * (BLOCK * UNROLL);
  const Unit* __restrict__ in = reinterpret_cast<const Unit*>(x) + first;
  Unit* __restrict__ to = reinterpret_cast<Unit*>(y) + first;
  const int t = static_cast<int>(threadIdx.x);

  if (first + BLOCK * UNROLL <= units) {      // a full block: no bounds checks
    Unit p[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) p[u] = load(in + (t + u * BLOCK));
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) to[t + u * BLOCK] = rectify(p[u]);
  } else {
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const int i = t + u * BLOCK;
      if (first + i < units) to[i] = rectify(load(in + i));
    }
  }
  leftover(x, y, n);
}
