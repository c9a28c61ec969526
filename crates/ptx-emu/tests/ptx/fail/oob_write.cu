extern "C" __global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) {
    float v = i < n ? x[i] : 1.f;
    y[i] = v > 0.f ? v : 0.f;
  }
}
