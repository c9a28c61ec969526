#include <cassert>
extern "C" __global__ void shared_overflow(float* y) {
  __shared__ float s[64], t[64];
  s[threadIdx.x] = threadIdx.x;
  t[threadIdx.x] = 1.f;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x + 1] + t[threadIdx.x];
}
extern "C" __global__ void dynamic_overflow(float* y) {
  extern __shared__ float s[];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void misaligned(const float* x, float* y, int k) {
  float4 v = *(const float4*)(x + k);
  *(float4*)y = v;
}
extern "C" __global__ void uninitialised(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x]; }
extern "C" __global__ void uninitialised_shared(float* y) {
  __shared__ float s[64];
  if (threadIdx.x < 63) s[threadIdx.x] = 1.f;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void null_pointer(float* y) { y[threadIdx.x] = 1.f; }
extern "C" __global__ void trapped(float* y) { if (threadIdx.x == 7) __trap(); y[threadIdx.x] = 1.f; }
extern "C" __global__ void asserted(const float* x, float* y) { assert(x[threadIdx.x] < 0.5f); y[threadIdx.x] = 1.f; }
extern "C" __global__ void negative(const float* x, float* y, int n) { y[threadIdx.x] = x[(long long)threadIdx.x - n]; }
extern "C" __global__ void divergent(float* y) {
  if (threadIdx.x < 16) { y[threadIdx.x] = 1.f; asm volatile("bar.sync 1, 64;"); } else { asm volatile("bar.sync 2, 64;"); }
  y[threadIdx.x] = 2.f;
}
extern "C" __global__ void endless(volatile int* flag, float* y) { while (*flag == 0) {} y[threadIdx.x] = 1.f; }
extern "C" __global__ void busy(float* y, int n) {
  float v = 1.f;
  for (int i = 0; i != n; i += 2) v = v * 1.0001f + 0.5f;
  y[threadIdx.x] = v;
}
extern "C" __global__ void bad_mask(int* y) { y[threadIdx.x] = __shfl_down_sync(0xffff, (int)threadIdx.x, 1); }
__device__ __noinline__ int deep(int n) { volatile int a[64]; a[n & 63] = n; return n < 0 ? 0 : deep(n + 1) + a[3]; }
extern "C" __global__ void overflow(int* y) { y[threadIdx.x] = deep(1); }
extern "C" __global__ void local_overflow(const int* x, int* y) {
  int a[8];
  for (int i = 0; i < 8; ++i) a[i] = x[i];
  y[threadIdx.x] = a[x[threadIdx.x]];
}
