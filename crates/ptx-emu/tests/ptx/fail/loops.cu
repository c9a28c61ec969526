extern "C" __global__ void forever(const int* x, int* y) {
  int i = threadIdx.x;
  y[i] = i;
  if (i < 40) while (true) { asm volatile(""); }
}
extern "C" __global__ void hoisted(const int* x, int* y) {
  while (x[0] == 0) {}
  y[threadIdx.x] = 1;
}
extern "C" __global__ void waiting(int* x, int* y) {
  if (threadIdx.x < 32) {
    while (atomicAdd(x, 0) != 64) {}
  } else if (threadIdx.x == 63) {
    while (atomicCAS(x, 5, 6) == 0) {}
  }
  __syncthreads();
  y[threadIdx.x] = 1;
}
