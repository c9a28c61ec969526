/*@plan
if reduction == 0:
    a = expand(self, out.shape)
    b = expand(target, out.shape)
    n = out.numel
    launch("each", grid=min(cdiv(n, 256), 8 * sm_count), block=256, args=[a, b, out, n @ARGS@])
else:
    nd = max(self.ndim, target.ndim)
    rank_a = nd - self.ndim
    rank_b = nd - target.ndim
    n = 1
    same = 1 if self.ndim == target.ndim else 0
    for i in range(nd):
        ea = self.shape[i - rank_a] if i >= rank_a else 1
        eb = target.shape[i - rank_b] if i >= rank_b else 1
        same = same if ea == eb else 0
        n = n * (eb if ea == 1 else ea)
    require(nd <= 4)
    e0 = 1
    e1 = 1
    e2 = 1
    e3 = 1
    for i in range(nd):
        ea = self.shape[i - rank_a] if i >= rank_a else 1
        eb = target.shape[i - rank_b] if i >= rank_b else 1
        e0, e1, e2, e3 = e1, e2, e3, (eb if ea == 1 else ea)
    a = expand(self, (e0, e1, e2, e3))
    b = expand(target, (e0, e1, e2, e3))
    blocks = min(max(cdiv(n, 1024), 1), 512)
    part = scratch(blocks * 4)
    launch("partial", grid=blocks, block=256, args=[a, b, part, n @ARGS@])
    launch("total", grid=1, block=256, args=[part, out, blocks, n, i32(reduction)])
@*/
__device__ __forceinline__ float f(float x, float t @PARAMS@) {
  const float d = fabsf(x - t);
  return @F@;
}
__device__ __forceinline__ float block_sum(float v) {
  __shared__ float part[8];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float t = 0.0f;
  for (int w = 0; w < 8; ++w) t += part[w];
  return t;
}
extern "C" __global__ void __launch_bounds__(256)
each(const T_self* __restrict__ a, const T_target* __restrict__ b, T_out* __restrict__ out, long long n @PARAMS@) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    out[i] = kg::from_float<T_out>(f(kg::to_float(a[i]), kg::to_float(b[i]) @CALL@));
  }
}
extern "C" __global__ void __launch_bounds__(256)
partial(const T_self* __restrict__ a, const T_target* __restrict__ b, float* __restrict__ part, long long n @PARAMS@) {
  float s = 0.0f;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    s += f(kg::to_float(a[i]), kg::to_float(b[i]) @CALL@);
  }
  s = block_sum(s);
  if (threadIdx.x == 0) part[blockIdx.x] = s;
}
extern "C" __global__ void __launch_bounds__(256)
total(const float* __restrict__ part, T_out* __restrict__ out, long long blocks, long long n, int reduction) {
  float s = 0.0f;
  for (long long i = threadIdx.x; i < blocks; i += 256) s += part[i];
  s = block_sum(s);
  if (threadIdx.x == 0) out[0] = kg::from_float<T_out>(reduction == 1 ? s / static_cast<float>(n) : s);
}
