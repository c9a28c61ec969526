/*@plan
d = dim + self.ndim if dim < 0 else dim
x = contiguous(self)
n = self.shape[d] if self.ndim > 0 else 1
inner = 1
for a in range(d + 1, self.ndim):
  inner *= self.shape[a]
lines = self.numel // max(n, 1)
launch("scan", grid=cdiv(lines, 64), block=64, args=[x, @OUTS@, n, inner, lines])
@*/
using X = T_self;
using Y = @TY@;
using A = @TA@;
struct Item { A value; @EXTRA@ };
__device__ __forceinline__ Item first(X x, long long i) {
@FIRST@
}
__device__ __forceinline__ Item join(const Item& a, const Item& b) {
@JOIN@
}
// A thread per line.
extern "C" __global__ void scan(const X* x, @PARAMS@, long long n, long long inner, long long lines) {
  const long long line = blockIdx.x * 64LL + threadIdx.x;
  if (line >= lines) return;
  const long long base = line / inner * n * inner + line % inner;
  Item r{};
  for (long long i = 0; i < n; ++i) {
    const long long at = base + i * inner;
    r = i ? join(r, first(x[at], i)) : first(x[at], i);
    @STORE@
  }
}
