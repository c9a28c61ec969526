/*@plan
x = contiguous(self)
nd = x.ndim
d = (dim + nd) % max(nd, 1)
n = 1
inner = 1
for i in range(nd):
    if i == d:
        n = x.shape[i]
    elif i > d:
        inner = inner * x.shape[i]
rows = x.numel // max(n, 1)
if inner == 1 and n <= 1024:
    launch("warp_row", grid=cdiv(rows, 8), block=256, args=[x, out, rows, n])
else:
    launch("block_row", grid=min(rows, 8 * sm_count), block=256, args=[x, out, rows, n, inner])
@*/
struct Pair { float m, s; };      // the largest so far, the sum relative to it

__device__ __forceinline__ void add(Pair& p, float x) {
  if (x <= p.m) {
    if (p.m != -INFINITY) p.s += expf(x - p.m);
  } else {
    p.s = (p.m == -INFINITY ? p.s : p.s * expf(p.m - x)) + (x != x ? x : 1.0f);
    p.m = x != x ? p.m : x;
  }
}
__device__ __forceinline__ void merge(Pair& p, Pair o) {
  const float m = fmaxf(p.m, o.m);
  const float a = p.m == m ? p.s : p.s * expf(p.m - m);
  const float b = o.m == m ? o.s : o.s * expf(o.m - m);
  p.m = m;
  p.s = a + b;
}
__device__ __forceinline__ Pair warp_merge(Pair p) {
  for (int d = 16; d > 0; d >>= 1) {
    Pair o;
    o.m = __shfl_xor_sync(0xffffffffu, p.m, d);
    o.s = __shfl_xor_sync(0xffffffffu, p.s, d);
    merge(p, o);
  }
  return p;
}
__device__ __forceinline__ float finish(float x, Pair p, float lg) {
  if (p.m == -INFINITY || p.m == INFINITY || p.s != p.s) return NAN;
  return @RESULT@;
}
extern "C" __global__ void __launch_bounds__(256)
warp_row(const T_self* __restrict__ in, T_out* __restrict__ out, long long rows, long long n) {
  const long long row = blockIdx.x * 8LL + threadIdx.x / 32;
  if (row >= rows) return;
  const int lane = threadIdx.x % 32;
  const T_self* x = in + row * n;
  float v[32];
  Pair p = {-INFINITY, 0.0f};
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    const long long j = lane + 32 * k;
    v[k] = j < n ? kg::to_float(x[j]) : -INFINITY;
    if (j < n) add(p, v[k]);
  }
  p = warp_merge(p);
  const float lg = logf(p.s);
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    const long long j = lane + 32 * k;
    if (j < n) out[row * n + j] = kg::from_float<T_out>(finish(v[k], p, lg));
  }
}
extern "C" __global__ void __launch_bounds__(256)
block_row(const T_self* __restrict__ in, T_out* __restrict__ out, long long rows, long long n, long long inner) {
  __shared__ Pair part[8];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const long long base = row / inner * n * inner + row % inner;
    Pair p = {-INFINITY, 0.0f};
    for (long long j = threadIdx.x; j < n; j += 256) add(p, kg::to_float(in[base + j * inner]));
    p = warp_merge(p);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = p;
    __syncthreads();
    Pair t = part[0];
    for (int w = 1; w < 8; ++w) merge(t, part[w]);
    __syncthreads();
    const float lg = logf(t.s);
    for (long long j = threadIdx.x; j < n; j += 256) {
      out[base + j * inner] = kg::from_float<T_out>(finish(kg::to_float(in[base + j * inner]), t, lg));
    }
  }
}
