/*@plan
r = out.ndim
n0 = out.shape[-1] if r > 0 else 1
n1 = out.shape[-2] if r > 1 else 1
n2 = out.shape[-3] if r > 2 else 1
n3 = out.shape[-4] if r > 3 else 1
n4 = out.shape[-5] if r > 4 else 1
require(r < 7)
n5 = out.shape[-6] if r > 5 else 1
e = self.ndim
s0 = self.stride[-1] if e > 0 else 0
s1 = self.stride[-2] if e > 1 else 0
s2 = self.stride[-3] if e > 2 else 0
s3 = self.stride[-4] if e > 3 else 0
s4 = self.stride[-5] if e > 4 else 0
s5 = self.stride[-6] if e > 5 else 0
m0 = self.shape[-1] if e > 0 else 1
m1 = self.shape[-2] if e > 1 else 1
m2 = self.shape[-3] if e > 2 else 1
m3 = self.shape[-4] if e > 3 else 1
m4 = self.shape[-5] if e > 4 else 1
m5 = self.shape[-6] if e > 5 else 1
p0, p1, p2, p3, p4, p5 = 0, 0, 0, 0, 0, 0
fill_ = 0
high, low = 0.0, 0.0
@SHAPE@
launch("move", grid=cdiv(out.numel, 256), block=256,
       args=[self, out, out.numel, n0, n1, n2, n3, n4, n5, m0, m1, m2, m3, m4, m5, s0, s1, s2, s3, s4, s5,
             p0, p1, p2, p3, p4, p5, fill_, high, low])
@*/
using T = T_out;
// The place along one dimension of the input, or -1 for the value that fills.
__device__ __forceinline__ long long place(long long i, long long n, long long m, long long p) {
@F@
}
// A number beyond 2^53 comes as two words.
template <typename A>
__device__ __forceinline__ A number(double value, double high, double low) {
  if (sizeof(A) < 8 || fabs(value) < 9e15) return static_cast<A>(value);
  return static_cast<A>(static_cast<long long>(high) * 4294967296ll + static_cast<long long>(low));
}
extern "C" __global__ void move(const T* __restrict__ x, T* __restrict__ out, long long total,
                                long long n0, long long n1, long long n2, long long n3, long long n4, long long n5,
                                long long m0, long long m1, long long m2, long long m3, long long m4, long long m5,
                                long long s0, long long s1, long long s2, long long s3, long long s4, long long s5,
                                long long p0, long long p1, long long p2, long long p3, long long p4, long long p5,
                                @TV@ filled, double high, double low) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at >= total) return;
  long long left = at, from = 0;
  bool inside = true;
  const long long n[6] = {n0, n1, n2, n3, n4, n5}, m[6] = {m0, m1, m2, m3, m4, m5};
  const long long s[6] = {s0, s1, s2, s3, s4, s5}, p[6] = {p0, p1, p2, p3, p4, p5};
#pragma unroll
  for (int d = 0; d < 6; ++d) {
    const long long i = left % n[d];
    left /= n[d];
    const long long there = place(i, n[d], m[d], p[d]);
    inside = inside && there >= 0;
    from += there * s[d];
  }
  out[at] = inside ? x[from] : @V@;
}
