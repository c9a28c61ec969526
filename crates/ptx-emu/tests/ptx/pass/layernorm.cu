extern "C" __global__ void layernorm(const float* __restrict__ x, const float* __restrict__ g,
                                     const float* __restrict__ b, float* __restrict__ y, int cols, float eps) {
  extern __shared__ float row[];
  __shared__ float stats[2];
  const float* in = x + blockIdx.x * cols;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) row[i] = in[i];
  __syncthreads();
  if (threadIdx.x < 32) {
    float sum = 0.f, sq = 0.f;
    for (int i = threadIdx.x; i < cols; i += 32) { sum += row[i]; sq += row[i] * row[i]; }
    for (int o = 16; o; o /= 2) {
      sum += __shfl_down_sync(~0u, sum, o);
      sq += __shfl_down_sync(~0u, sq, o);
    }
    if (threadIdx.x == 0) {
      float mean = sum / cols;
      stats[0] = mean;
      stats[1] = rsqrtf(sq / cols - mean * mean + eps);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    y[blockIdx.x * cols + i] = (row[i] - stats[0]) * stats[1] * g[i] + b[i];
}
