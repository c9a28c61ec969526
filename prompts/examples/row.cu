/*@plan
x = contiguous(self)                       # its copy kernel runs only for strided inputs
cols = x.shape[-1] if x.ndim > 0 else 1
rows = x.numel // max(cols, 1)
vec = define("VEC", 16 // x.itemsize if x.align >= 16 and cols % (16 // x.itemsize) == 0 else 1)
block = param("BLOCK", [256, 128, 512])    # autotuned; the first value is the default
launch("center", grid=min(rows, 16 * sm_count), block=block, args=[x, out, rows, cols])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };   // one load of up to 16 bytes

extern "C" __global__ void __launch_bounds__(BLOCK)
center(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long cols) {
  __shared__ float partial[BLOCK / 32];
  const long long packs = cols / VEC;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const Pack* in = reinterpret_cast<const Pack*>(x + row * cols);
    float sum = 0.0f;                       // f32 for every dtype
    for (long long i = threadIdx.x; i < packs; i += BLOCK) {
      const Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) sum += kg::to_float(p.v[k]);
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < BLOCK / 32; ++w) total += partial[w];
    __syncthreads();                        // partial is written again for the next row
    const float mean = total / static_cast<float>(cols);
    Pack* to = reinterpret_cast<Pack*>(y + row * cols);
    for (long long i = threadIdx.x; i < packs; i += BLOCK) {
      Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) p.v[k] = kg::from_float<T_out>(kg::to_float(p.v[k]) - mean);
      to[i] = p;
    }
  }
}
