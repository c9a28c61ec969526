/*@plan
x = contiguous(input)
w = contiguous(weight) if has(weight) else None
b = contiguous(bias) if has(bias) else None
n = 1
for i in range(len(normalized_shape)):
    n = n * normalized_shape[i]
rows = x.numel // max(n, 1)
v = 16 // x.itemsize
ok = n % v == 0 and x.align >= 16
if has(weight):
    ok = ok and w.align >= 16
if has(bias):
    ok = ok and b.align >= 16
vec = define("VEC", v if ok else 1)
block = param("BLOCK", [256, 128, 512])
wide = define("BLOCK_ROW", 1 if n > 1024 else 0)
per = 1 if n > 1024 else block // 32
launch("layer_norm", grid=min(cdiv(rows, per), 16 * sm_count), block=block, args=[x, w, b, out, rows, n, f32(eps)])
@*/
#ifdef T_weight
typedef T_weight W;
#else
typedef T_input W;
#endif
#ifdef T_bias
typedef T_bias B;
#else
typedef T_input B;
#endif

#define WARPS (BLOCK / 32)
#if BLOCK_ROW
#define TPR BLOCK
#else
#define TPR 32
#endif

template <typename T>
struct alignas(VEC * sizeof(T)) Pack { T v[VEC]; };

static __device__ __forceinline__ float warp_sum(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}

// Sum over the threads of one row, the same value in all of them.
static __device__ __forceinline__ float row_sum(float v, float* part) {
  v = warp_sum(v);
#if BLOCK_ROW
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0.0f;
#pragma unroll
  for (int w = 0; w < WARPS; ++w) v += part[w];
  __syncthreads();
#endif
  return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
layer_norm(const T_input* __restrict__ x, const W* __restrict__ weight, const B* __restrict__ bias,
           T_out* __restrict__ y, long long rows, long long n, float eps) {
  __shared__ float part[WARPS];
  const int t = threadIdx.x % TPR;
  const int slot = threadIdx.x / TPR;
  const int slots = BLOCK / TPR;
  const long long packs = n / VEC;
  const float count = static_cast<float>(n);
  const Pack<W>* wp = reinterpret_cast<const Pack<W>*>(weight);
  const Pack<B>* bp = reinterpret_cast<const Pack<B>*>(bias);
  for (long long row = static_cast<long long>(blockIdx.x) * slots + slot; row < rows;
       row += static_cast<long long>(gridDim.x) * slots) {
    const Pack<T_input>* in = reinterpret_cast<const Pack<T_input>*>(x + row * n);
    Pack<T_out>* to = reinterpret_cast<Pack<T_out>*>(y + row * n);

    float sum = 0.0f;
    for (long long i = t; i < packs; i += TPR) {
      const Pack<T_input> p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) sum += kg::to_float(p.v[k]);
    }
    const float mean = row_sum(sum, part) / count;

    float s1 = 0.0f;
    float s2 = 0.0f;
    for (long long i = t; i < packs; i += TPR) {
      const Pack<T_input> p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) {
        const float d = kg::to_float(p.v[k]) - mean;
        s1 += d;
        s2 += d * d;
      }
    }
    const float c = row_sum(s1, part) / count;
    float var = row_sum(s2, part) / count - c * c;
    var = var < 0.0f ? 0.0f : var;          // keeps NaN
    const float rstd = 1.0f / sqrtf(var + eps);

    for (long long i = t; i < packs; i += TPR) {
      const Pack<T_input> p = in[i];
      float r[VEC];
#pragma unroll
      for (int k = 0; k < VEC; ++k) r[k] = ((kg::to_float(p.v[k]) - mean) - c) * rstd;
      if (weight != nullptr) {
        const Pack<W> q = wp[i];
#pragma unroll
        for (int k = 0; k < VEC; ++k) r[k] *= kg::to_float(q.v[k]);
      }
      if (bias != nullptr) {
        const Pack<B> q = bp[i];
#pragma unroll
        for (int k = 0; k < VEC; ++k) r[k] += kg::to_float(q.v[k]);
      }
      Pack<T_out> o;
#pragma unroll
      for (int k = 0; k < VEC; ++k) o.v[k] = kg::from_float<T_out>(r[k]);
      to[i] = o;
    }
  }
}
