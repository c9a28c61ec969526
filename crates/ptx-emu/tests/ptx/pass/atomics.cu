#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half2* h, __half* h1, __nv_bfloat162* b) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], t); atomicSub(&i[1], t); atomicMin(&i[2], -t); atomicMax(&i[3], t);
  atomicAnd(&i[4], ~(1 << (t & 31))); atomicOr(&i[5], 1 << (t & 15)); atomicXor(&i[6], t);
  atomicInc(&u[0], 9); atomicDec(&u[1], 9); atomicMax(&u[2], (unsigned)-t); atomicExch(&u[3], 77u);
  atomicAdd(&l[0], 1ull << 33); atomicMax(&l[1], (unsigned long long)t << 40); atomicCAS(&l[2], 0ull, (unsigned long long)t + 5);
  atomicAdd(&f[0], 0.5f); atomicAdd(&d[0], 0.25); 
  atomicAdd(h, __floats2half2_rn(1.f, 0.5f));
  atomicAdd(h1, __float2half(0.25f));
  atomicAdd(b, __floats2bfloat162_rn(1.f, 2.f));
}
