/*@plan
a = contiguous(self)
b = contiguous(target)
n = a.numel
vec = define("VEC", 16 // a.itemsize if a.align >= 16 and b.align >= 16 else 1)
block = param("BLOCK", [256, 128, 512])
if reduction == 0:
    launch("mse_each", grid=min(cdiv(n, block * vec), 16 * sm_count), block=block, args=[a, b, out, n])
else:
    blocks = min(cdiv(n, block * vec * 2), 8 * sm_count)
    parts = scratch(4 * max(blocks, 1))
    launch("mse_partial", grid=blocks, block=block, args=[a, b, ptr(parts, 0), n])
    launch("mse_final", grid=1, block=block, args=[ptr(parts, 0), out, blocks, n, 1 if reduction == 1 else 0])
@*/
template <typename T>
struct alignas(VEC * sizeof(T)) Pack { T v[VEC]; };

static __device__ __forceinline__ float squared(T_self a, T_target b) {
  const float d = kg::to_float(a) - kg::to_float(b);
  return d * d;
}

// The sum over the block, valid in thread 0.
static __device__ __forceinline__ float block_sum(float v) {
  __shared__ float part[BLOCK / 32];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float total = 0.0f;
#pragma unroll
  for (int w = 0; w < BLOCK / 32; ++w) total += part[w];
  return total;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
mse_each(const T_self* __restrict__ a, const T_target* __restrict__ b, T_out* __restrict__ y, long long n) {
  const long long packs = n / VEC;
  const long long first = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * BLOCK;
  for (long long i = first; i < packs; i += step) {
    const Pack<T_self> p = reinterpret_cast<const Pack<T_self>*>(a)[i];
    const Pack<T_target> q = reinterpret_cast<const Pack<T_target>*>(b)[i];
    Pack<T_out> o;
#pragma unroll
    for (int k = 0; k < VEC; ++k) o.v[k] = kg::from_float<T_out>(squared(p.v[k], q.v[k]));
    reinterpret_cast<Pack<T_out>*>(y)[i] = o;
  }
  const long long t = packs * VEC + first;
  if (t < n) y[t] = kg::from_float<T_out>(squared(a[t], b[t]));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
mse_partial(const T_self* __restrict__ a, const T_target* __restrict__ b, float* __restrict__ parts, long long n) {
  const long long packs = n / VEC;
  const long long first = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * BLOCK;
  float acc[VEC];
#pragma unroll
  for (int k = 0; k < VEC; ++k) acc[k] = 0.0f;
  for (long long i = first; i < packs; i += step) {
    const Pack<T_self> p = reinterpret_cast<const Pack<T_self>*>(a)[i];
    const Pack<T_target> q = reinterpret_cast<const Pack<T_target>*>(b)[i];
#pragma unroll
    for (int k = 0; k < VEC; ++k) acc[k] += squared(p.v[k], q.v[k]);
  }
  const long long t = packs * VEC + first;
  if (t < n) acc[0] += squared(a[t], b[t]);
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < VEC; ++k) sum += acc[k];
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
mse_final(const float* __restrict__ parts, T_out* __restrict__ y, int blocks, long long n, int mean) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < blocks; i += BLOCK) sum += parts[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    if (mean) sum /= static_cast<float>(n);
    y[0] = kg::from_float<T_out>(sum);
  }
}
