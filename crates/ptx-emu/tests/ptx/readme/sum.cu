__global__ void sum(const float *x, float *y) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t];
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) *y = s[0];
}
