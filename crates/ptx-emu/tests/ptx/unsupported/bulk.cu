extern "C" __global__ void bulk(float* y, int n) {
  __shared__ float4 box;
  if (n > 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" :: "l"(y), "r"((unsigned)__cvta_generic_to_shared(&box)));
  }
  y[threadIdx.x] = n;
}
