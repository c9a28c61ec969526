/*@plan
xc = contiguous(x)
n = xc.numel
vec = define("VEC", 16 // xc.itemsize if xc.align >= 16 else 1)
launch("gelu", grid=cdiv(n, 4 * 256 * vec), block=256, args=[xc, out, n])
@*/
struct alignas(VEC * sizeof(T_x)) Pack { T_x v[VEC]; };

// x * Phi(x); no cancellation for x >= -0.5
__device__ __forceinline__ float gelu_near(float x) {
  const float e = erff(x * 0.70710678118654752440f);
  return x * fmaf(0.5f, e, 0.5f);
}

// accurate far into the negative tail as well; NaN and infinities follow x * 0.5 * (1 + erf)
__device__ __forceinline__ float gelu_any(float x) {
  return x * (0.5f * erfcf(x * -0.70710678118654752440f));
}

extern "C" __global__ void __launch_bounds__(256)
gelu(const T_x* __restrict__ x, T_out* __restrict__ out, long long n) {
  const long long packs = n / VEC;
  const long long first = blockIdx.x * 1024LL + threadIdx.x;
  Pack a[4];
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    const long long i = first + u * 256;
    if (i < packs) a[u] = reinterpret_cast<const Pack*>(x)[i];
  }
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    const long long i = first + u * 256;
    if (i < packs) {
      float f[VEC];
      bool near = true;
#pragma unroll
      for (int k = 0; k < VEC; ++k) {
        f[k] = kg::to_float(a[u].v[k]);
        near = near && (f[k] >= -0.5f);        // false for NaN
      }
      if (near) {
#pragma unroll
        for (int k = 0; k < VEC; ++k) f[k] = gelu_near(f[k]);
      } else {
#pragma unroll
        for (int k = 0; k < VEC; ++k) f[k] = gelu_any(f[k]);
      }
      Pack r;
#pragma unroll
      for (int k = 0; k < VEC; ++k) r.v[k] = kg::from_float<T_out>(f[k]);
      reinterpret_cast<Pack*>(out)[i] = r;
    }
  }
  const long long tail = packs * VEC + first;   // fewer than VEC elements are left
  if (tail < n) out[tail] = kg::from_float<T_out>(gelu_any(kg::to_float(x[tail])));
}
