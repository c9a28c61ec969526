#include <cuda_fp8.h>
#include <cuda_fp16.h>
extern "C" __global__ void fp8(const float* x, __nv_fp8_e4m3* y, float* z, int n) { int i = threadIdx.x; if (i < n) { y[i] = __nv_fp8_e4m3(x[i]); z[i] = float(y[i]) + float(__nv_fp8_e5m2(x[i])); } }
extern "C" __global__ void fp8x4(const float4* x, __nv_fp8x4_e4m3* y, float4* z) { y[threadIdx.x] = __nv_fp8x4_e4m3(x[threadIdx.x]); z[threadIdx.x] = float4(y[threadIdx.x]); }
