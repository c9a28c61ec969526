extern "C" __global__ void relu(const float4* __restrict__ x, float4* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = x[i];
    y[i] = make_float4(fmaxf(v.x, 0.f), fmaxf(v.y, 0.f), fmaxf(v.z, 0.f), fmaxf(v.w, 0.f));
  }
}

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
  float m = __int_as_float(0xff800000);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, row[i]);
  m = reduce(m, [](float a, float b) { return fmaxf(a, b); }, s);
  float sum = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    float e = expf(row[i] - m);
    out[i] = e;
    sum += e;
  }
  float scale = 1.f / reduce(sum, [](float a, float b) { return a + b; }, s);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] *= scale;
}

extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || j >= n) return;
  float s = 0.f;
  for (int p = 0; p < n; ++p) s += a[i * n + p] * b[p * n + j];
  c[i * n + j] = s;
}

#define T 32
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float sa[T][T + 1], sb[T][T + 1];
  int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x;
  float s = 0.f;
  for (int t = 0; t < n; t += T) {
    sa[threadIdx.y][threadIdx.x] = a[i * n + t + threadIdx.x];
    sb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + j];
    __syncthreads();
    for (int p = 0; p < T; ++p) s += sa[threadIdx.y][p] * sb[p][threadIdx.x];
    __syncthreads();
  }
  c[i * n + j] = s;
}
