// Undefined values that matter, and some that do not.
extern "C" __global__ void stored(const float* x, float* y, int n) {
  float sum;
  for (int i = 0; i < n; ++i) {
    sum += x[i];
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void decides(const float* x, float* y) {
  __shared__ float s[64];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = x[threadIdx.x];
  }
  __syncthreads();
  float v = s[threadIdx.x];
  y[threadIdx.x] = v > 0.f ? 1.f : 0.f;
  if (v > 1.f) {
    y[0] = 2.f;
  }
}
extern "C" __global__ void indexes(const float* x, float* y) {
  __shared__ int s[64];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = threadIdx.x;
  }
  __syncthreads();
  y[threadIdx.x] = x[s[threadIdx.x] & 31];
}
extern "C" __global__ void shuffled(const float* x, float* y) {
  float v = x[threadIdx.x];
  if (threadIdx.x < 16) {
    v += __shfl_down_sync(0xffff, v, 8);
    y[threadIdx.x] = v;
  }
}
extern "C" __global__ void local_array(const int* x, int* y) {
  int a[8];
  for (int i = 0; i < 7; ++i) {
    a[i + x[0] * 0] = x[i];
  }
  y[threadIdx.x] = a[x[threadIdx.x] & 7];
}
// Right: what is read beyond the written part is not used.
extern "C" __global__ void masked(const float* x, float* y) {
  __shared__ float s[64], t[64];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = x[threadIdx.x];
  }
  __syncthreads();
  t[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
  float v = t[threadIdx.x];
  y[threadIdx.x] = threadIdx.x < 32 ? v : 0.f;
}
// Right: the compiler reads s beside the flag, and joins both by and.pred.
extern "C" __global__ void guarded(const float* x, float* y, int n) {
  __shared__ float s[64];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = x[threadIdx.x];
  }
  __syncthreads();
  bool known = threadIdx.x < 32;
  y[threadIdx.x] = known & (s[threadIdx.x] > 0.5f) ? 1.f : 0.f;
  if (known & (s[threadIdx.x] > 0.25f)) {
    y[threadIdx.x] += 2.f;
  }
}
// Wrong: who is not known decides.
extern "C" __global__ void unguarded(const float* x, float* y, int n) {
  __shared__ float s[64];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = x[threadIdx.x];
  }
  __syncthreads();
  bool known = threadIdx.x < 32;
  if (known | (s[threadIdx.x] > 0.25f)) {
    y[threadIdx.x] = 2.f;
  }
}
