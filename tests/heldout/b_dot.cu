/*@plan
k = self.shape[0]
blocks = max(min(cdiv(k, 256), 4096), 1)
parts = scratch(blocks * 4)
done = scratch(4, zero=True)
launch("dot", grid=blocks, block=256, args=[self, tensor, out, parts, done, k, self.stride[0], tensor.stride[0]])
@*/
// The block that ends last adds the partial sums of all.
extern "C" __global__ void __launch_bounds__(256)
dot(const T_self* __restrict__ a, const T_tensor* __restrict__ b, T_out* out, float* parts, unsigned* done, long long k,
    long long sa, long long sb) {
  __shared__ float warps[32];
  __shared__ bool last;
  const int tid = threadIdx.x, lane = tid % 32;
  auto total = [&](float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (lane == 0) warps[tid / 32] = v;
    __syncthreads();
    v = lane < 8 ? warps[lane] : 0.0f;
    for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d, 8);
    __syncthreads();
    return v;
  };
  float sum = 0;
  for (long long i = blockIdx.x * 256LL + tid; i < k; i += gridDim.x * 256LL)
    sum = fmaf(kg::to_float(a[i * sa]), kg::to_float(b[i * sb]), sum);
  sum = total(sum);
  if (tid == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    const volatile float* all = parts;
    sum = 0;
    for (int i = tid; i < gridDim.x; i += 256) sum += all[i];
    sum = total(sum);
    if (tid == 0) *out = kg::from_float<T_out>(sum);
  }
}
