/*@plan
x = contiguous(input)
n = 1
for s in normalized_shape:
    n = n * s
rows = x.numel // max(n, 1)
w = contiguous(weight) if has(weight) else None
b = contiguous(bias) if has(bias) else None
vec = define("VEC", 16 // x.itemsize if x.align >= 16 and n % (16 // x.itemsize) == 0 else 1)
block = param("BLOCK", [256, 128, 512])
launch("layer_norm", grid=min(rows, 32 * sm_count), block=block, args=[x, w, b, out, rows, n, f32(eps)])
@*/
struct alignas(VEC * sizeof(T_input)) Pack { T_input v[VEC]; };

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
