extern "C" __global__ void barrier(float* y, int n) {
  __shared__ unsigned long long bar;
  if (n > 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"((unsigned)__cvta_generic_to_shared(&bar)), "r"(n));
  }
  y[threadIdx.x] = n;
}
