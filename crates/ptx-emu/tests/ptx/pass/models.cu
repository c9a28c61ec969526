#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda/atomic>
__device__ __forceinline__ float gelu_tanh(float x) { return 0.5f * x * (1.f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
extern "C" __global__ void gelu_bf16(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y, long long n) {
  long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (i + 8 <= n) {
    uint4 raw = __ldg(reinterpret_cast<const uint4*>(x + i));
    __nv_bfloat162* p = reinterpret_cast<__nv_bfloat162*>(&raw);
#pragma unroll
    for (int k = 0; k < 4; ++k) { float2 f = __bfloat1622float2(p[k]); f.x = gelu_tanh(f.x); f.y = gelu_tanh(f.y); p[k] = __float22bfloat162_rn(f); }
    __stcs(reinterpret_cast<uint4*>(y + i), raw);
  } else for (; i < n; ++i) y[i] = __float2bfloat16(gelu_tanh(__bfloat162float(x[i])));
}
extern "C" __global__ void silu_half2(const __half2* x, __half2* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { __half2 one = __float2half2_rn(1.f); y[i] = __h2div(x[i], __hadd2(one, h2exp(__hneg2(x[i])))); }
}
extern "C" __global__ void hmath(const __half* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half v = x[i];
  y[i] = __hmax(hsqrt(__habs(v)), hexp(v)); y[i] = __hadd(y[i], hlog(__habs(v))); y[i] = __hfma(y[i], hrcp(v), htanh(v));
  if (__hgt(v, y[i]) && !__hisnan(v)) y[i] = hfloor(v) + hsin(v) * (__half)2.f; y[i] += __int2half_rn((int)v); y[i] = __hmin_nan(y[i], v);
}
extern "C" __global__ void bmath(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat16 v = x[i];
  y[i] = __hmax(hsqrt(__habs(v)), hexp(v)); y[i] = __hadd(y[i], hlog(__habs(v))); y[i] = __hfma(y[i], hrcp(v), v);
  if (__hgt(v, y[i]) && !__hisnan(v)) y[i] = hfloor(v) - v / y[i]; atomicAdd(&y[i], v); y[i] = __hfma_relu(v, v, v);
}
extern "C" __global__ void welford_online_xent(const float* x, const long long* t, float* loss, int c) {
  const float* row = x + (long long)blockIdx.x * c;
  float m = -INFINITY, s = 0.f;
  for (int i = threadIdx.x; i < c; i += blockDim.x) { float v = row[i]; float nm = fmaxf(m, v); s = s * __expf(m - nm) + __expf(v - nm); m = nm; }
  __shared__ float sm[32], ss[32];
  for (int o = 16; o; o >>= 1) { float om = __shfl_xor_sync(~0u, m, o), os = __shfl_xor_sync(~0u, s, o); float nm = fmaxf(m, om); s = s * __expf(m - nm) + os * __expf(om - nm); m = nm; }
  if ((threadIdx.x & 31) == 0) { sm[threadIdx.x / 32] = m; ss[threadIdx.x / 32] = s; }
  __syncthreads();
  if (threadIdx.x == 0) { for (int i = 1; i < blockDim.x / 32; ++i) { float nm = fmaxf(m, sm[i]); s = s * __expf(m - nm) + ss[i] * __expf(sm[i] - nm); m = nm; } loss[blockIdx.x] = logf(s) + m - row[t[blockIdx.x]]; }
}
extern "C" __global__ void atomics2(int* p, float* f, unsigned long long* l) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(*p);
  a.fetch_add(1, cuda::memory_order_relaxed); a.fetch_max(5); while (a.load(cuda::memory_order_acquire) < 0) __nanosleep(20);
  a.store(3, cuda::memory_order_release); int e = 3; a.compare_exchange_strong(e, 4);
  cuda::atomic_ref<float, cuda::thread_scope_device> b(*f); b.fetch_add(1.f);
  atomicMax((int*)f, __float_as_int(1.f)); atomicAdd_system(p, 2); atomicAdd_block(p, 1); __threadfence_system(); __threadfence_block();
}
extern "C" __global__ void quant(const float* x, signed char* q, float* sc, int n) {
  float m = 0; for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, fabsf(x[i])); for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  for (int i = threadIdx.x; i < n; i += 32) { int v = __float2int_rn(x[i] * 127.f / m); q[i] = max(-128, min(127, v)); } if (threadIdx.x == 0) *sc = m / 127.f;
  char4 c = make_char4(q[0], q[1], q[2], q[3]); *(char4*)q = c;
}
