// GELU (tanh form) on pairs of halves; one thread does the odd element.
#include <cuda_fp16.h>

__device__ __forceinline__ float gelu(float x) {
    const float k = 0.7978845608f;
    return 0.5f * x * (1.0f + tanhf(k * (x + 0.044715f * x * x * x)));
}

extern "C" __global__ void gelu_half2(const half* __restrict__ x, half* __restrict__ y, int n) {
    int pairs = n / 2;
    const half2* x2 = reinterpret_cast<const half2*>(x);
    half2* y2 = reinterpret_cast<half2*>(y);
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += stride) {
        float2 f = __half22float2(x2[i]);
        f.x = gelu(f.x);
        f.y = gelu(f.y);
        y2[i] = __float22half2_rn(f);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && (n & 1)) {
        y[n - 1] = __float2half(gelu(__half2float(x[n - 1])));
    }
}
