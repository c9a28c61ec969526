#include <cstdio>
#include <cassert>
extern "C" __global__ void hello(const float* x, int n) {
  if (threadIdx.x < n) printf("thread %d of %s: %5.2f %x %lld%%\n", threadIdx.x, "block", x[threadIdx.x], 255u + threadIdx.x, (long long)threadIdx.x << 40);
}
