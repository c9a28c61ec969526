template <class F> __device__ float reduce(float v, F op, float* s) {
  for (int o = 16; o > 0; o >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, o));
  int w = threadIdx.x >> 5, l = threadIdx.x & 31, n = blockDim.x >> 5;
  if (l == 0) s[w] = v;
  __syncthreads();
  v = s[0];
  for (int i = 1; i < n; ++i) v = op(v, s[i]);
  __syncthreads();
  return v;
}
extern "C" __global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float s[32];
  const float* row = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, row[i]);
  m = reduce(m, [](float a, float b) { return fmaxf(a, b); }, s);
  float sum = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - m);
  sum = reduce(sum, [](float a, float b) { return a + b; }, s);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = __expf(row[i] - m) / sum;
}
