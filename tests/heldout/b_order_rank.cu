/*@plan
d = dim + self.ndim if dim < 0 else dim
x = contiguous(self)
n = self.shape[d] if self.ndim > 0 else 1
inner = 1
for a in range(d + 1, self.ndim):
  inner *= self.shape[a]
lines = self.numel // max(n, 1)
@SHAPE@
launch("rank", grid=(cdiv(n, 128), min(lines, 65535)), block=128, args=[x, out0, out1, n, k, inner, lines, up])
@*/
// Every thread counts the elements before its own, which is the place where it goes.
extern "C" __global__ void rank(const T_self* __restrict__ x, T_out0* values, long long* places, long long n, long long k,
                                long long inner, long long lines, int up) {
  using A = kg::acc_t<T_self>;
  const long long i = blockIdx.x * 128LL + threadIdx.x;
  if (i >= n) return;
  for (long long line = blockIdx.y; line < lines; line += gridDim.y) {
    const T_self* row = x + line / inner * n * inner + line % inner;
    auto less = [](A a, A b) { return a < b || (b != b && a == a); };
    const A mine = kg::to_acc(row[i * inner]);
    long long before = 0;
    for (long long j = 0; j < n; ++j) {
      const A other = kg::to_acc(row[j * inner]);
      const bool first = up ? less(other, mine) : less(mine, other);
      const bool same = !less(other, mine) && !less(mine, other);
      before += first || (same && j < i);
    }
    if (before < k) {
      const long long to = (line / inner * k + before) * inner + line % inner;
      values[to] = row[i * inner];
      places[to] = i;
    }
  }
}
