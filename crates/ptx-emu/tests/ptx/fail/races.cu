// Threads that meet without order, and some that only seem to.
extern "C" __global__ void no_barrier(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[127 - threadIdx.x];
}
extern "C" __global__ void next_iteration(const float* x, float* y) {
  __shared__ float s[128];
  float sum = 0.f;
  for (int i = 0; i < 3; ++i) {
    s[threadIdx.x] = x[threadIdx.x + i];
    __syncthreads();
    sum += s[127 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void lanes(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void same_element(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x / 2] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x / 2];
}
extern "C" __global__ void blocks(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + blockIdx.x;
}
extern "C" __global__ void neighbours(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
  y[i] += i > 0 ? y[i - 1] : 0.f;
}
extern "C" __global__ void in_place(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i] + x[(i + 1) % n];
  x[i] = v;
}
__device__ unsigned ticket;
template <bool FENCE> __device__ void last_block(const float* x, float* part, float* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x];
    if (FENCE) __threadfence();
    last = atomicAdd(&ticket, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0.f;
    for (int i = 0; i < gridDim.x; ++i) {
      sum += part[i];
    }
    y[0] = sum;
    ticket = 0;
  }
}
extern "C" __global__ void no_fence(const float* x, float* part, float* y) { last_block<false>(x, part, y); }
// Right from here on.
extern "C" __global__ void with_fence(const float* x, float* part, float* y) { last_block<true>(x, part, y); }
extern "C" __global__ void same_value(const float* x, float* y) {
  __shared__ float s;
  s = 3.f;
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x] + s;
}
extern "C" __global__ void lanes_in_order(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void halves(const unsigned short* x, unsigned short* y) {
  __shared__ unsigned short s[128];
  s[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void legacy_warp(const float* x, float* y) {
  __shared__ volatile float s[64];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = x[threadIdx.x];
    s[threadIdx.x + 32] = 0.f;
    s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 1];
  }
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x & 31];
}
__device__ void wait_for(int id, int n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }
__device__ void come_to(int id, int n) { asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(n) : "memory"); }
__device__ void pipeline(const float* x, float* y) {
  __shared__ float s[32];
  int lane = threadIdx.x & 31;
  float sum = 0.f;
  for (int i = 0; i < 4; ++i) {
    if (threadIdx.x < 32) {
      if (i > 0) wait_for(2, 64);
      s[lane] = x[lane + i];
      come_to(1, 64);
    } else {
      wait_for(1, 64);
      sum += s[31 - lane];
      if (i < 3) come_to(2, 64);
    }
  }
  if (threadIdx.x >= 32) y[lane] = sum;
}
extern "C" __global__ void named(const float* x, float* y) { pipeline(x, y); }
// Wrong: the lanes of warp 0 come to different barriers.
extern "C" __global__ void parted(const float* x, float* y) {
  if (threadIdx.x & 1) {
    y[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
  } else {
    y[threadIdx.x] = -x[threadIdx.x];
    __syncthreads();
  }
}
