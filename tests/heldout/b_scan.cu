/*@plan
x = contiguous(self)
d = dim + self.ndim if dim < 0 else dim
n = self.shape[d] if self.ndim > 0 else 1
inner = 1
for a in range(d + 1, self.ndim):
  inner *= self.shape[a]
lines = self.numel // max(n, 1)
launch("scan", grid=lines, block=256, args=[x, @OUTS@, n, inner])
@*/
using X = T_self;
using Y = @TY@;
using A = @TA@;
struct Item { A value; @EXTRA@ };
__device__ __forceinline__ Item first(X x, long long i) {
@FIRST@
}
// b follows a.
__device__ __forceinline__ Item join(const Item& a, const Item& b) {
@JOIN@
}
// A block per line: chunks of 1024 elements, four per thread, and what came before in `carry`.
extern "C" __global__ void __launch_bounds__(256)
scan(const X* __restrict__ x, @PARAMS@, long long n, long long inner) {
  __shared__ Item warps[8];
  __shared__ Item carry;
  const long long line = blockIdx.x;
  const long long base = line / inner * n * inner + line % inner;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid / 32;
  bool any = false;
  for (long long i0 = 0; i0 < n; i0 += 1024) {
    Item mine[4];
    const long long from = i0 + tid * 4;
    const int many = from >= n ? 0 : n - from < 4 ? static_cast<int>(n - from) : 4;
    for (int v = 0; v < many; ++v) {
      mine[v] = first(x[base + (from + v) * inner], from + v);
      if (v) mine[v] = join(mine[v - 1], mine[v]);
    }
    Item sum = many ? mine[many - 1] : Item{};
    const int full = n - i0 > 1023 ? 256 : static_cast<int>((n - i0 + 3) / 4);
    for (int s = 1; s < 32; s *= 2) {
      Item left = sum;
      left.value = __shfl_up_sync(0xffffffffu, sum.value, s);
      @SHFL@
      if (lane >= s && tid < full) sum = join(left, sum);
    }
    if (lane == 31) warps[warp] = sum;
    Item before = sum;
    before.value = __shfl_up_sync(0xffffffffu, sum.value, 1);
    @SHFL1@
    __syncthreads();  // sums of warps
    if (tid < full) {
      bool has = any;
      Item p = has ? carry : Item{};
      for (int w = 0; w < warp; ++w) { p = has ? join(p, warps[w]) : warps[w]; has = true; }
      if (lane) { p = has ? join(p, before) : before; has = true; }
      for (int v = 0; v < many; ++v) {
        const Item r = has ? join(p, mine[v]) : mine[v];
        const long long at = base + (from + v) * inner;
        @STORE@
        if (v == many - 1) sum = r;
      }
    }
    __syncthreads();  // carry was read
    if (tid == full - 1) carry = sum;
    any = true;
    __syncthreads();  // carry is known
  }
}
