/*@plan
x = contiguous(self)
nd = x.ndim
mask = 0
@DIMS@
# runs of kept and of reduced dimensions take turns: k0 r0 k1 r1 k2 r2 k3
k0, r0, k1, r1, k2, r2, k3 = 1, 1, 1, 1, 1, 1, 1
run = 0
for d in range(nd):
    red = (mask >> d) & 1
    run = run + 1 if red != run % 2 else run
    require(run <= 6)
    if run == 0:
        k0 = k0 * x.shape[d]
    elif run == 1:
        r0 = r0 * x.shape[d]
    elif run == 2:
        k1 = k1 * x.shape[d]
    elif run == 3:
        r1 = r1 * x.shape[d]
    elif run == 4:
        k2 = k2 * x.shape[d]
    elif run == 5:
        r2 = r2 * x.shape[d]
    else:
        k3 = k3 * x.shape[d]
rows = k0 * k1 * k2 * k3
n = r0 * r1 * r2
@EXTRA@
launch("stat", grid=min(rows, 16 * sm_count), block=256, args=[x, @OUTS@, rows, n, r0, k1, r1, k2, r2, k3 @ARGS@])
@*/
#include <cuda/std/type_traits>
using A = @ACC@;
struct State { A v; long long at; A w; };

__device__ __forceinline__ State identity() {
  State s;
  s.v = @INIT@; s.at = -1; s.w = 0;
  return s;
}
__device__ __forceinline__ void merge(State& s, const State& o) {
  @MERGE@
}
__device__ __forceinline__ State shuffle(const State& s, int d) {
  State o;
  o.v = __shfl_xor_sync(0xffffffffu, s.v, d);
  o.at = __shfl_xor_sync(0xffffffffu, s.at, d);
  o.w = __shfl_xor_sync(0xffffffffu, s.w, d);
  return o;
}
__device__ State block_merge(State s) {
  __shared__ State part[8];
  for (int d = 16; d > 0; d >>= 1) merge(s, shuffle(s, d));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  State t = part[0];
  for (int w = 1; w < 8; ++w) merge(t, part[w]);
  __syncthreads();
  return t;
}
extern "C" __global__ void __launch_bounds__(256)
stat(const T_self* __restrict__ x, @OUTPARAMS@, long long rows, long long n, long long r0,
       long long k1, long long r1, long long k2, long long r2, long long k3 @PARAMS@) {
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const long long c3 = row % k3, c2 = row / k3 % k2, c1 = row / k3 / k2 % k1, c0 = row / k3 / k2 / k1;
    const long long base = (((c0 * r0 * k1 + c1) * r1 * k2 + c2) * r2) * k3 + c3;
    auto at = [&](long long j) {
      const long long j2 = j % r2, j1 = j / r2 % r1, j0 = j / r2 / r1;
      return base + ((j0 * k1 * r1 + j1) * k2 * r2 + j2) * k3;
    };
    State s = identity();
    for (long long j = threadIdx.x; j < n; j += 256) {
      const T_self e = x[at(j)];
      @ADD@
    }
    s = block_merge(s);
    @SECOND@
    if (threadIdx.x == 0) {
      @STORE@
    }
  }
}
