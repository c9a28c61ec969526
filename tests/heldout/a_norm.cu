/*@plan
x = contiguous(input)
n = 1
@PLAN@
rows = x.numel // max(n, 1)
w = contiguous(weight) if has(weight) else None
@BIASPLAN@
launch("normalise", grid=min(rows, 8 * sm_count), block=256, args=[x, w, @BIAS@, out, rows, n, groups, span, f32(@EPS@)])
@*/
__device__ __forceinline__ float block_sum(float v) {
  __shared__ float part[8];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float t = 0.0f;
  for (int w = 0; w < 8; ++w) t += part[w];
  __syncthreads();
  return t;
}
// Row r belongs to group r % groups; weight j / span of the group's own goes with element j.
extern "C" __global__ void __launch_bounds__(256)
normalise(const T_input* __restrict__ in, const T_weight* __restrict__ weight, const @T_BIAS@* __restrict__ bias,
     T_out* __restrict__ out, long long rows, long long n, long long groups, long long span, float eps) {
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T_input* x = in + row * n;
    const long long c0 = row % groups * (n / span);
    float mean = 0.0f;
    if (@CENTRED@) {
      float s = 0.0f;
      for (long long j = threadIdx.x; j < n; j += 256) s += kg::to_float(x[j]);
      mean = block_sum(s) / static_cast<float>(n);
    }
    float q = 0.0f;
    for (long long j = threadIdx.x; j < n; j += 256) {
      const float d = kg::to_float(x[j]) - mean;
      q += d * d;
    }
    const float scale = 1.0f / sqrtf(block_sum(q) / static_cast<float>(n) + eps);
    for (long long j = threadIdx.x; j < n; j += 256) {
      const long long c = c0 + j / span;
      float y = (kg::to_float(x[j]) - mean) * scale;
      if (weight) y *= kg::to_float(weight[c]);
      if (bias) y += kg::to_float(bias[c]);
      out[row * n + j] = kg::from_float<T_out>(y);
    }
  }
}
