// Updates that threads make without order, and a sum whose steps nothing separates.
extern "C" __global__ void histogram(const float* x, float* counts) {
  int bin = (threadIdx.x * 7) & 15;
  counts[bin] += x[threadIdx.x];
}

extern "C" __global__ void total(const float* x, float* sum) {
  if (threadIdx.x == 0) *sum += x[blockIdx.x];
}

extern "C" __global__ void tree(const float* x, float* y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int k = 64; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
  }
  if (t == 0) y[0] = s[0];
}

extern "C" __global__ void unsized(float* y) {
  extern __shared__ float s[];
  s[threadIdx.x] = 1.0f;
  y[threadIdx.x] = s[threadIdx.x];
}
