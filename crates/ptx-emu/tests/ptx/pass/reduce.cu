__device__ unsigned int ticket = 0;
extern "C" __global__ void sum_last_block(const float* x, float* partial, float* out, int n) {
  __shared__ float s[256];
  __shared__ bool last;
  float v = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int o = blockDim.x / 2; o > 0; o /= 2) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float t = 0.f;
    for (int i = 0; i < gridDim.x; ++i) t += ((volatile float*)partial)[i];
    *out = t;
  }
}
// Every block waits for its predecessor: decoupled look-back.
extern "C" __global__ void scan_chained(const int* x, int* y, volatile int* state, int n) {
  __shared__ int s[128], before;
  int i = blockIdx.x * 128 + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (int o = 1; o < 128; o *= 2) {
    int v = threadIdx.x >= o ? s[threadIdx.x - o] : 0;
    __syncthreads();
    s[threadIdx.x] += v;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    int b = 0;
    if (blockIdx.x > 0) {
      while (state[2 * (blockIdx.x - 1)] == 0) {}
      b = state[2 * (blockIdx.x - 1) + 1];
    }
    state[2 * blockIdx.x + 1] = b + s[127];
    __threadfence();
    state[2 * blockIdx.x] = 1;
    before = b;
  }
  __syncthreads();
  if (i < n) y[i] = s[threadIdx.x] + before;
}
// The reverse order: the first block waits for the last.
extern "C" __global__ void wait_for_all(int* count, int* out) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < (int)gridDim.x) {}
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
}
// A spin lock between the lanes of a warp.
extern "C" __global__ void spin_lock(int* lock, int* value) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      *(volatile int*)value += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
extern "C" __global__ void spin_lock_simple(int* lock, int* value) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  *(volatile int*)value += 1;
  __threadfence();
  atomicExch(lock, 0);
}
