#define T 16
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int m, int n, int k) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || j >= n) return;
  float s = 0.f;
  for (int p = 0; p < k; ++p) s += a[i * k + p] * b[p * n + j];
  c[i * n + j] = s;
}
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float sa[T][T], sb[T][T + 1];
  int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x;
  float s = 0.f;
  for (int t = 0; t < k; t += T) {
    sa[threadIdx.y][threadIdx.x] = i < m && t + threadIdx.x < k ? a[i * k + t + threadIdx.x] : 0.f;
    sb[threadIdx.y][threadIdx.x] = j < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + j] : 0.f;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < T; ++p) s = fmaf(sa[threadIdx.y][p], sb[p][threadIdx.x], s);
    __syncthreads();
  }
  if (i < m && j < n) c[i * n + j] = s;
}
extern "C" __global__ void matmul_splitk(const float* a, const float* b, float* c, int m, int n, int k) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || j >= n) return;
  float s = 0.f;
  for (int p = blockIdx.z; p < k; p += gridDim.z) s += a[i * k + p] * b[p * n + j];
  atomicAdd(&c[i * n + j], s);
}
