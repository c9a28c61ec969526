/*@plan
x = contiguous(self)
nd = x.ndim
d = dim + nd if dim < 0 else dim
cols = x.shape[d] if nd > 0 else 1
inner = 1
for i in range(nd):
    if i > d:
        inner = inner * x.shape[i]
slices = x.numel // max(cols, 1)
per = 16 // x.itemsize
vec = define("VEC", per if inner == 1 and x.align >= 16 and cols % per == 0 else 1)
block = param("BLOCK", [256, 128, 512])
items = param("ITEMS", [16, 8, 32])
if inner > 1:
    launch("softmax_strided", grid=cdiv(slices, 32), block=(32, 8), args=[x, out, slices, cols, inner])
elif cols <= 512:
    launch("softmax_warp512", grid=cdiv(slices, block // 32), block=block, args=[x, out, slices, cols])
elif cols <= 1024:
    launch("softmax_warp1024", grid=cdiv(slices, block // 32), block=block, args=[x, out, slices, cols])
elif cols <= 1024 * items:
    launch("softmax_block", grid=slices, block=align_up(cdiv(cols, items), 32), args=[x, out, cols])
else:
    launch("softmax_long", grid=slices, block=1024, args=[x, out, cols])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };

__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  return v;
}

// The block reductions write `partial` once per launch: each call has its own array.
__device__ __forceinline__ float block_max(float v, float* partial) {
  const int lane = threadIdx.x % 32;
  v = warp_max(v);
  if (lane == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_max(lane < static_cast<int>(blockDim.x / 32) ? partial[lane] : -INFINITY);
}

__device__ __forceinline__ float block_sum(float v, float* partial) {
  const int lane = threadIdx.x % 32;
  v = warp_sum(v);
  if (lane == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_sum(lane < static_cast<int>(blockDim.x / 32) ? partial[lane] : 0.0f);
}

// One warp per row of at most 32 * N elements, held in registers.
template <int N>
__device__ __forceinline__ void warp_row(const T_self* __restrict__ x, T_out* __restrict__ y,
                                         long long rows, long long cols) {
  constexpr int PACKS = N / VEC;
  const long long row = static_cast<long long>(blockIdx.x) * (BLOCK / 32) + threadIdx.x / 32;
  if (row >= rows) return;                    // whole warps only
  const int lane = threadIdx.x % 32;
  const int packs = static_cast<int>(cols) / VEC;
  const Pack* __restrict__ in = reinterpret_cast<const Pack*>(x + row * cols);
  Pack* __restrict__ to = reinterpret_cast<Pack*>(y + row * cols);

  float v[PACKS][VEC];
  float m = -INFINITY;
#pragma unroll
  for (int u = 0; u < PACKS; ++u) {
    const int i = u * 32 + lane;
    if (i < packs) {
      const Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) v[u][k] = kg::to_float(p.v[k]);
    } else {
#pragma unroll
      for (int k = 0; k < VEC; ++k) v[u][k] = -INFINITY;
    }
  }
#pragma unroll
  for (int u = 0; u < PACKS; ++u)
#pragma unroll
    for (int k = 0; k < VEC; ++k) m = fmaxf(m, v[u][k]);
  m = warp_max(m);

  float sum = 0.0f;
#pragma unroll
  for (int u = 0; u < PACKS; ++u) {
    if (u * 32 + lane < packs) {
#pragma unroll
      for (int k = 0; k < VEC; ++k) {
        v[u][k] = expf(v[u][k] - m);
        sum += v[u][k];
      }
    }
  }
  const float scale = 1.0f / warp_sum(sum);

#pragma unroll
  for (int u = 0; u < PACKS; ++u) {
    const int i = u * 32 + lane;
    if (i < packs) {
      Pack p;
#pragma unroll
      for (int k = 0; k < VEC; ++k) p.v[k] = kg::from_float<T_out>(v[u][k] * scale);
      to[i] = p;
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_warp512(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long cols) {
  warp_row<16>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_warp1024(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long cols) {
  warp_row<32>(x, y, rows, cols);
}

// One block per row of at most blockDim.x * ITEMS elements, held in registers.
extern "C" __global__ void __launch_bounds__(1024)
softmax_block(const T_self* __restrict__ x, T_out* __restrict__ y, long long cols) {
  __shared__ float maxima[32];
  __shared__ float sums[32];
  constexpr int PACKS = ITEMS / VEC;
  const long long row = blockIdx.x;
  const int packs = static_cast<int>(cols) / VEC;
  const int threads = blockDim.x;
  const Pack* __restrict__ in = reinterpret_cast<const Pack*>(x + row * cols);
  Pack* __restrict__ to = reinterpret_cast<Pack*>(y + row * cols);

  float v[PACKS][VEC];
  float m = -INFINITY;
#pragma unroll
  for (int u = 0; u < PACKS; ++u) {
    const int i = u * threads + static_cast<int>(threadIdx.x);
    if (i < packs) {
      const Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) v[u][k] = kg::to_float(p.v[k]);
    } else {
#pragma unroll
      for (int k = 0; k < VEC; ++k) v[u][k] = -INFINITY;
    }
  }
#pragma unroll
  for (int u = 0; u < PACKS; ++u)
#pragma unroll
    for (int k = 0; k < VEC; ++k) m = fmaxf(m, v[u][k]);
  m = block_max(m, maxima);

  float sum = 0.0f;
#pragma unroll
  for (int u = 0; u < PACKS; ++u) {
    if (u * threads + static_cast<int>(threadIdx.x) < packs) {
#pragma unroll
      for (int k = 0; k < VEC; ++k) {
        v[u][k] = expf(v[u][k] - m);
        sum += v[u][k];
      }
    }
  }
  const float scale = 1.0f / block_sum(sum, sums);

#pragma unroll
  for (int u = 0; u < PACKS; ++u) {
    const int i = u * threads + static_cast<int>(threadIdx.x);
    if (i < packs) {
      Pack p;
#pragma unroll
      for (int k = 0; k < VEC; ++k) p.v[k] = kg::from_float<T_out>(v[u][k] * scale);
      to[i] = p;
    }
  }
}

// One block per row of any length, read three times.
extern "C" __global__ void __launch_bounds__(1024)
softmax_long(const T_self* __restrict__ x, T_out* __restrict__ y, long long cols) {
  __shared__ float maxima[32];
  __shared__ float sums[32];
  const long long row = blockIdx.x;
  const long long packs = cols / VEC;
  const Pack* __restrict__ in = reinterpret_cast<const Pack*>(x + row * cols);
  Pack* __restrict__ to = reinterpret_cast<Pack*>(y + row * cols);

  float m = -INFINITY;
  for (long long i = threadIdx.x; i < packs; i += blockDim.x) {
    const Pack p = in[i];
#pragma unroll
    for (int k = 0; k < VEC; ++k) m = fmaxf(m, kg::to_float(p.v[k]));
  }
  m = block_max(m, maxima);

  float sum = 0.0f;
  for (long long i = threadIdx.x; i < packs; i += blockDim.x) {
    const Pack p = in[i];
#pragma unroll
    for (int k = 0; k < VEC; ++k) sum += expf(kg::to_float(p.v[k]) - m);
  }
  const float scale = 1.0f / block_sum(sum, sums);

  for (long long i = threadIdx.x; i < packs; i += blockDim.x) {
    Pack p = in[i];
#pragma unroll
    for (int k = 0; k < VEC; ++k) p.v[k] = kg::from_float<T_out>(expf(kg::to_float(p.v[k]) - m) * scale);
    to[i] = p;
  }
}

// Slices with stride `inner`: threadIdx.x picks the slice, threadIdx.y a share of its elements.
extern "C" __global__ void __launch_bounds__(256)
softmax_strided(const T_self* __restrict__ x, T_out* __restrict__ y, long long slices,
                long long cols, long long inner) {
  __shared__ float maxima[8][32];
  __shared__ float sums[8][32];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const long long s = static_cast<long long>(blockIdx.x) * 32 + tx;
  const bool active = s < slices;
  const long long base = active ? (s / inner) * cols * inner + s % inner : 0;
  const long long count = active ? cols : 0;  // idle threads still reach the barriers

  float m = -INFINITY;
  for (long long j = ty; j < count; j += 8) m = fmaxf(m, kg::to_float(x[base + j * inner]));
  maxima[ty][tx] = m;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < 8; ++w) m = fmaxf(m, maxima[w][tx]);

  float sum = 0.0f;
  for (long long j = ty; j < count; j += 8) sum += expf(kg::to_float(x[base + j * inner]) - m);
  sums[ty][tx] = sum;
  __syncthreads();
  float total = 0.0f;
#pragma unroll
  for (int w = 0; w < 8; ++w) total += sums[w][tx];
  const float scale = 1.0f / total;

  for (long long j = ty; j < count; j += 8)
    y[base + j * inner] = kg::from_float<T_out>(expf(kg::to_float(x[base + j * inner]) - m) * scale);
}
