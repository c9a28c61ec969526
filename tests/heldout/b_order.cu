/*@plan
d = dim + self.ndim if dim < 0 else dim
x = contiguous(self)
n = self.shape[d] if self.ndim > 0 else 1
inner = 1
for a in range(d + 1, self.ndim):
  inner *= self.shape[a]
lines = self.numel // max(n, 1)
@SHAPE@
size = next_pow2(max(n, 1))
keys = scratch(max(lines * size * 16, 16))
launch("fill_keys", grid=min(cdiv(lines * size, 256), 1 << 30), block=256, args=[x, keys, lines * size, n, size, inner, up])
if size <= 2048:
  launch("sort_small", grid=lines, block=256, smem=size * 16, args=[keys, size])
else:
  launch("sort_large", grid=lines, block=1024, args=[keys, size])
launch("store", grid=cdiv(lines * k, 256), block=256, args=[keys, x, out0, out1, lines * k, k, n, size, inner])
@*/
struct Key { unsigned long long bits; long long at; };
// Bits that sort as the values do, NaN above everything.
__device__ __forceinline__ unsigned long long order(T_self v) {
  if constexpr (sizeof(T_self) == 8) {
    return static_cast<unsigned long long>(kg::to_acc(v)) ^ 0x8000000000000000ull;
  } else if constexpr (sizeof(kg::acc_t<T_self>) == 8) {
    return static_cast<unsigned long long>(kg::to_acc(v)) ^ 0x8000000000000000ull;
  } else {
    const float f = kg::to_float(v);
    if (f != f) return 0xffffffffull;
    const unsigned b = __float_as_uint(f + 0.0f);
    return b & 0x80000000u ? ~b : b | 0x80000000u;
  }
}
extern "C" __global__ void fill_keys(const T_self* __restrict__ x, Key* keys, long long total, long long n,
                                     long long size, long long inner, int up) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at >= total) return;
  const long long i = at % size, line = at / size;
  Key key{~0ull, i};
  if (i < n) {
    key.bits = order(x[(line / inner * n + i) * inner + line % inner]);
    if (!up) key.bits = (sizeof(kg::acc_t<T_self>) == 8 ? ~0ull : 0xffffffffull) - key.bits;
  }
  keys[at] = key;
}
// The place breaks ties, so that what fills up the line (its places are the last) stays behind.
__device__ __forceinline__ bool after(const Key& a, const Key& b) {
  return a.bits > b.bits || (a.bits == b.bits && a.at > b.at);
}
__device__ __forceinline__ void sort(Key* line, long long size) {
  for (long long k = 2; k <= size; k *= 2)
    for (long long j = k / 2; j > 0; j /= 2) {
      for (long long i = threadIdx.x; i < size; i += blockDim.x) {
        const long long other = i ^ j;
        if (other > i) {
          const Key a = line[i], b = line[other];
          if (after(a, b) == ((i & k) == 0)) {
            line[i] = b;
            line[other] = a;
          }
        }
      }
      __syncthreads();
    }
}
extern "C" __global__ void __launch_bounds__(256) sort_small(Key* keys, long long size) {
  extern __shared__ Key line[];
  Key* mine = keys + blockIdx.x * size;
  for (long long i = threadIdx.x; i < size; i += 256) line[i] = mine[i];
  __syncthreads();
  sort(line, size);
  for (long long i = threadIdx.x; i < size; i += 256) mine[i] = line[i];
}
extern "C" __global__ void __launch_bounds__(1024) sort_large(Key* keys, long long size) {
  sort(keys + blockIdx.x * size, size);
}
extern "C" __global__ void store(const Key* __restrict__ keys, const T_self* __restrict__ x, T_out0* __restrict__ values,
                                 long long* __restrict__ places, long long total, long long k, long long n, long long size,
                                 long long inner) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at >= total) return;
  const long long i = at % k, line = at / k;
  const long long from = keys[line * size + i].at;
  const long long to = (line / inner * k + i) * inner + line % inner;
  places[to] = from;
  values[to] = x[(line / inner * n + from) * inner + line % inner];
}
