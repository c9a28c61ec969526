/*@plan
r = self.ndim
require(r < 6)
e = r - 1 - (dim + r if dim < 0 else dim)
e = 0 if r == 0 else e
high, low = 0.0, 0.0
@LOOP@
n0 = over.shape[-1] if over.ndim > 0 else 1
n1 = over.shape[-2] if over.ndim > 1 else 1
n2 = over.shape[-3] if over.ndim > 2 else 1
n3 = over.shape[-4] if over.ndim > 3 else 1
n4 = over.shape[-5] if over.ndim > 4 else 1
x0 = over.stride[-1] if over.ndim > 0 else 0
x1 = over.stride[-2] if over.ndim > 1 else 0
x2 = over.stride[-3] if over.ndim > 2 else 0
x3 = over.stride[-4] if over.ndim > 3 else 0
x4 = over.stride[-5] if over.ndim > 4 else 0
@SRC@
m0 = self.shape[-1] if r > 0 else 1
m1 = self.shape[-2] if r > 1 else 1
m2 = self.shape[-3] if r > 2 else 1
m3 = self.shape[-4] if r > 3 else 1
w0, w1, w2, w3, w4 = 1, m0, m0 * m1, m0 * m1 * m2, m0 * m1 * m2 * m3
sums = scratch(max(out.numel * 8, 8))
x = contiguous(self)
launch("begin", grid=cdiv(out.numel, 256), block=256, args=[x, sums, out.numel])
launch("scatter", grid=cdiv(over.numel, 256), block=256,
       args=[index, @VALUE@, sums, over.numel, e, n0, n1, n2, n3, x0, x1, x2, x3, x4, y0, y1, y2, y3, y4, w0, w1, w2, w3, w4, factor, high, low])
launch("end", grid=cdiv(out.numel, 256), block=256, args=[sums, out, out.numel])
@*/
using T = T_out;
using A = kg::acc_t<T>;
extern "C" __global__ void begin(const T* __restrict__ x, A* sums, long long total) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at < total) sums[at] = kg::to_acc(x[at]);
}
// A number beyond 2^53 comes as two words.
template <typename V>
__device__ __forceinline__ V times(double factor, double high, double low) {
  if (sizeof(V) < 8 || fabs(factor) < 9e15) return static_cast<V>(factor);
  return static_cast<V>(static_cast<long long>(high) * 4294967296ll + static_cast<long long>(low));
}
__device__ __forceinline__ void add(A* to, A value) {
  if constexpr (sizeof(A) == 8) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  else atomicAdd(reinterpret_cast<float*>(to), static_cast<float>(value));
}
extern "C" __global__ void scatter(const T_index* __restrict__ index, const T* __restrict__ src, A* sums, long long total, int dim,
                                   long long n0, long long n1, long long n2, long long n3,
                                   long long x0, long long x1, long long x2, long long x3, long long x4,
                                   long long y0, long long y1, long long y2, long long y3, long long y4,
                                   long long w0, long long w1, long long w2, long long w3, long long w4, double factor,
                                   double high, double low) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at >= total) return;
  long long c[5] = {at % n0, at / n0 % n1, at / n0 / n1 % n2, at / n0 / n1 / n2 % n3, at / n0 / n1 / n2 / n3};
  const long long place = index[c[0] * x0 + c[1] * x1 + c[2] * x2 + c[3] * x3 + c[4] * x4];
  const long long from = c[0] * y0 + c[1] * y1 + c[2] * y2 + c[3] * y3 + c[4] * y4;
#pragma unroll
  for (int d = 0; d < 5; ++d) c[d] = d == dim ? place : c[d];
  A* to = sums + c[0] * w0 + c[1] * w1 + c[2] * w2 + c[3] * w3 + c[4] * w4;
@WRITE@
}
extern "C" __global__ void end(const A* __restrict__ sums, T* __restrict__ out, long long total) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at < total) out[at] = kg::from_acc<T>(sums[at]);
}
