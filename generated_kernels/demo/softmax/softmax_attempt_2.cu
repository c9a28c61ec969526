/*@plan
x = contiguous(self)
d = dim + x.ndim if dim < 0 else dim
cols = x.shape[d] if x.ndim > 0 else 1
inner = 1
for i in range(d + 1, x.ndim):
    inner *= x.shape[i]
rows = x.numel // max(cols, 1)
block = param("BLOCK", [256, 128, 512])
launch("softmax", grid=min(rows, 16 * sm_count), block=block, args=[x, out, rows, cols, inner])
@*/
// exp(v - m), with -Inf weighing 0 even where the maximum is -Inf too
__device__ __forceinline__ float weight(float v, float m) {
  return v == -INFINITY ? 0.0f : expf(v - m);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long cols, long long inner) {
  __shared__ float sm[BLOCK];
  __shared__ float ss[BLOCK];
  const int t = threadIdx.x;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const long long base = (row / inner) * cols * inner + row % inner;
    float m = -INFINITY;
    float s = 0.0f;
    for (long long i = t; i < cols; i += BLOCK) {
      const float v = kg::to_float(x[base + i * inner]);
      const float mn = fmaxf(m, v);
      s = s * weight(m, mn) + weight(v, mn);
      m = mn;
    }
    sm[t] = m;
    ss[t] = s;
    __syncthreads();
    for (int k = BLOCK / 2; k > 0; k >>= 1) {
      if (t < k) {
        const float m2 = sm[t + k];
        const float mn = fmaxf(sm[t], m2);
        ss[t] = ss[t] * weight(sm[t], mn) + ss[t + k] * weight(m2, mn);
        sm[t] = mn;
      }
      __syncthreads();
    }
    const float mx = sm[0];
    const float inv = 1.0f / ss[0];
    __syncthreads();
    for (long long i = t; i < cols; i += BLOCK)
      y[base + i * inner] = kg::from_float<T_out>(expf(kg::to_float(x[base + i * inner]) - mx) * inv);
  }
}
