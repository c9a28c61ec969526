/*@plan
x = contiguous(input)
n = 1
for s in normalized_shape:
    n = n * s
rows = x.numel // max(n, 1)
w = contiguous(weight) if has(weight) else None
b = contiguous(bias) if has(bias) else None
low = min(x.align, w.align if has(w) else 16, b.align if has(b) else 16)
vec = define("VEC", 16 // x.itemsize if low >= 16 and n % (16 // x.itemsize) == 0 else 1)
if n <= 1024:
    define("GROUP", 32)
    block = param("BLOCK", [128, 256])
    launch("layer_norm_held", grid=min(cdiv(rows, block // 32), 64 * sm_count), block=block, args=[x, w, b, out, rows, n, f32(eps)])
elif n <= 8192:
    define("GROUP", 256)
    block = define("BLOCK", 256)
    launch("layer_norm_held", grid=min(rows, 64 * sm_count), block=block, args=[x, w, b, out, rows, n, f32(eps)])
else:
    define("GROUP", 0)
    block = define("BLOCK", 256)
    launch("layer_norm", grid=min(rows, 32 * sm_count), block=block, args=[x, w, b, out, rows, n, f32(eps)])
@*/
constexpr int up_to_16(int bytes) { return bytes < 16 ? bytes : 16; }

struct alignas(VEC * sizeof(T_input)) Pack { T_input v[VEC]; };
struct alignas(up_to_16(VEC * sizeof(T_weight))) Weights { T_weight v[VEC]; };
struct alignas(up_to_16(VEC * sizeof(T_bias))) Biases { T_bias v[VEC]; };

#if GROUP
constexpr int PACKS = 32 / VEC;

__device__ __forceinline__ float total(float v, float* partial) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
#if GROUP > 32
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0.0f;
#pragma unroll
  for (int w = 0; w < GROUP / 32; ++w) v += partial[w];
#endif
  return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
layer_norm_held(const T_input* __restrict__ x, const T_weight* __restrict__ weight, const T_bias* __restrict__ bias,
                T_out* __restrict__ y, long long rows, long long n, float eps) {
  __shared__ float sums[GROUP / 32];
  __shared__ float squared[GROUP / 32];
  const int lane = threadIdx.x % GROUP;
  const int packs = static_cast<int>(n / VEC);
  const float count = static_cast<float>(n);
  const long long step = (long long)gridDim.x * (BLOCK / GROUP);
  for (long long row = (long long)blockIdx.x * (BLOCK / GROUP) + threadIdx.x / GROUP; row < rows; row += step) {
    const Pack* in = reinterpret_cast<const Pack*>(x + row * n);
    Pack held[PACKS];
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p)
      if (lane + p * GROUP < packs) held[p] = in[lane + p * GROUP];
#pragma unroll
    for (int p = 0; p < PACKS; ++p)
      if (lane + p * GROUP < packs) {
#pragma unroll
        for (int k = 0; k < VEC; ++k) sum += kg::to_float(held[p].v[k]);
      }
    const float mean = total(sum, sums) / count;
    float squares = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p)
      if (lane + p * GROUP < packs) {
#pragma unroll
        for (int k = 0; k < VEC; ++k) {
          const float c = kg::to_float(held[p].v[k]) - mean;
          squares += c * c;
        }
      }
    const float scale = 1.0f / sqrtf(total(squares, squared) / count + eps);
    Pack* to = reinterpret_cast<Pack*>(y + row * n);
#pragma unroll
    for (int p = 0; p < PACKS; ++p) {
      const int at = lane + p * GROUP;
      if (at < packs) {
        Weights w;
        Biases b;
        if (weight) w = reinterpret_cast<const Weights*>(weight)[at];
        if (bias) b = reinterpret_cast<const Biases*>(bias)[at];
        Pack r;
#pragma unroll
        for (int k = 0; k < VEC; ++k) {
          float v = (kg::to_float(held[p].v[k]) - mean) * scale;
          if (weight) v *= kg::to_float(w.v[k]);
          if (bias) v += kg::to_float(b.v[k]);
          r.v[k] = kg::from_float<T_out>(v);
        }
        to[at] = r;
      }
    }
  }
}
#endif

__device__ __forceinline__ float block_sum(float v, float* partial) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  float total = 0.0f;
#pragma unroll
  for (int w = 0; w < BLOCK / 32; ++w) total += partial[w];
  __syncthreads();
  return total;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
layer_norm(const T_input* __restrict__ x, const T_weight* __restrict__ weight, const T_bias* __restrict__ bias,
           T_out* __restrict__ y, long long rows, long long n, float eps) {
  __shared__ float partial[BLOCK / 32];
  const long long packs = n / VEC;
  const float count = static_cast<float>(n);
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const Pack* in = reinterpret_cast<const Pack*>(x + row * n);
    float sum = 0.0f;
    for (long long i = threadIdx.x; i < packs; i += BLOCK) {
      const Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) sum += kg::to_float(p.v[k]);
    }
    const float mean = block_sum(sum, partial) / count;
    float squares = 0.0f;
    for (long long i = threadIdx.x; i < packs; i += BLOCK) {
      const Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) {
        const float c = kg::to_float(p.v[k]) - mean;
        squares += c * c;
      }
    }
    const float scale = 1.0f / sqrtf(block_sum(squares, partial) / count + eps);
    Pack* to = reinterpret_cast<Pack*>(y + row * n);
    for (long long i = threadIdx.x; i < packs; i += BLOCK) {
      Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) {
        const long long at = i * VEC + k;
        const float w = weight ? kg::to_float(weight[at]) : 1.0f;
        const float b = bias ? kg::to_float(bias[at]) : 0.0f;
        p.v[k] = kg::from_float<T_out>((kg::to_float(p.v[k]) - mean) * scale * w + b);
      }
      to[i] = p;
    }
  }
}
