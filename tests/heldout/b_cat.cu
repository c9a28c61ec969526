/*@plan
d = dim + out.ndim if dim < 0 else dim
inner = 1
for a in range(d + 1, out.ndim):
  inner *= out.shape[a]
whole = out.shape[d] * inner
at = 0
for t in tensors:
  if t.numel > 0:
    x = contiguous(t)
    part = t.shape[d] * inner
    wide = 16 // out.itemsize
    packed = 1 if x.align >= 16 and part % wide == 0 and whole % wide == 0 and at % wide == 0 else 0
    step = wide if packed else 1
    launch("place", grid=cdiv(t.numel // step, 256), block=256, args=[x, out, t.numel // step, part // step, whole // step, at // step, packed])
    at += part
@*/
struct alignas(16) Pack { unsigned long long a, b; };
template <typename V>
__device__ __forceinline__ void move(const V* __restrict__ x, V* __restrict__ out, long long i, long long part, long long whole, long long at) {
  out[i / part * whole + at + i % part] = x[i];
}
extern "C" __global__ void place(const T_tensors* x, T_out* out, long long total, long long part, long long whole, long long at, int packed) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= total) return;
  if (packed) move(reinterpret_cast<const Pack*>(x), reinterpret_cast<Pack*>(out), i, part, whole, at);
  else move(x, out, i, part, whole, at);
}
