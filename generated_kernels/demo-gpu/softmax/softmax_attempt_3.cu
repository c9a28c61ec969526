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
block = param("BLOCK", [256, 128])
items = param("ITEMS", [16, 32])
hint = param("HINT", [0, 1])               # 1: streaming loads
pipe = param("PIPE", [1024, 0, 1536])      # threads per SM that walk the rows; 0: every row has its own
if inner > 1:
    launch("softmax_strided", grid=cdiv(slices, 32), block=(32, 8), args=[x, out, slices, cols, inner])
elif vec > 1 and cols // vec <= 48:
    blocks = cdiv(slices, block // 16)
    launch("softmax_half3", grid=min(blocks, sm_count * (pipe // block)) if pipe > 0 else blocks, block=block, args=[x, out, slices, cols])
elif vec > 1 and cols // vec <= 96:
    blocks = cdiv(slices, block // 32)
    launch("softmax_warp3", grid=min(blocks, sm_count * (pipe // block)) if pipe > 0 else blocks, block=block, args=[x, out, slices, cols])
elif cols <= 512:
    launch("softmax_warp512", grid=cdiv(slices, block // 32), block=block, args=[x, out, slices, cols])
elif cols <= 1024:
    launch("softmax_warp1024", grid=cdiv(slices, block // 32), block=block, args=[x, out, slices, cols])
elif cols <= 512 * items:
    threads = align_up(cdiv(cols, items), 32)
    launch("softmax_pipe", grid=min(slices, sm_count * (pipe // threads)) if pipe > 0 else slices, block=threads, args=[x, out, slices, cols])
elif cols <= 1024 * items:
    launch("softmax_block", grid=slices, block=align_up(cdiv(cols, items), 32), args=[x, out, cols])
else:
    launch("softmax_long", grid=slices, block=1024, args=[x, out, cols])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };

__device__ __forceinline__ Pack load_once(const Pack* p) {
#if VEC > 1 && HINT == 1
  const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(p));   // evict first
  return *reinterpret_cast<const Pack*>(&raw);
#else
  return *p;
#endif
}

__device__ __forceinline__ void store(Pack* to, const Pack& p) { *to = p; }

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

// Packs lane, lane + lanes, .. of a row; -Inf beyond its end, and everywhere if there is no such row.
template <int PACKS>
__device__ __forceinline__ void fetch(Pack (&raw)[PACKS], const T_self* __restrict__ x, long long row,
                                      long long rows, long long cols, int lane, int lanes) {
  const bool active = row < rows;
  const int packs = active ? static_cast<int>(cols) / VEC : 0;
  const Pack* __restrict__ in = reinterpret_cast<const Pack*>(x + (active ? row * cols : 0));
#pragma unroll
  for (int u = 0; u < PACKS; ++u) {
    const int i = u * lanes + lane;
    if (i < packs) {
      raw[u] = load_once(in + i);
    } else {
#pragma unroll
      for (int k = 0; k < VEC; ++k) raw[u].v[k] = kg::from_float<T_self>(-INFINITY);
    }
  }
}

// To f32, and the maximum of this thread's elements.
template <int PACKS>
__device__ __forceinline__ float widen(float (&v)[PACKS][VEC], const Pack (&raw)[PACKS]) {
  float m = -INFINITY;
#pragma unroll
  for (int u = 0; u < PACKS; ++u)
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      v[u][k] = kg::to_float(raw[u].v[k]);
      m = fmaxf(m, v[u][k]);
    }
  return m;
}

// v = exp(v - m); the padding is -Inf and becomes 0 wherever m is finite.
template <int PACKS>
__device__ __forceinline__ float exponentials(float (&v)[PACKS][VEC], float m) {
  float sum = 0.0f;
#pragma unroll
  for (int u = 0; u < PACKS; ++u)
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      v[u][k] = expf(v[u][k] - m);
      sum += v[u][k];
    }
  return sum;
}

template <int PACKS>
__device__ __forceinline__ void put(T_out* __restrict__ row, const float (&v)[PACKS][VEC], float scale,
                                    int packs, int lane, int lanes) {
  Pack* __restrict__ to = reinterpret_cast<Pack*>(row);
#pragma unroll
  for (int u = 0; u < PACKS; ++u) {
    const int i = u * lanes + lane;
    if (i < packs) {
      Pack p;
#pragma unroll
      for (int k = 0; k < VEC; ++k) p.v[k] = kg::from_float<T_out>(v[u][k] * scale);
      store(to + i, p);
    }
  }
}

// LANES lanes per row of at most LANES * PACKS packs. A warp walks over its rows and loads the next
// ones while it reduces the current ones. Groups without a row only take part in the shuffles.
template <int LANES, int PACKS>
__device__ __forceinline__ void group_rows(const T_self* __restrict__ x, T_out* __restrict__ y,
                                           long long rows, long long cols) {
  const long long stride = static_cast<long long>(gridDim.x) * (BLOCK / LANES);
  const int lane = threadIdx.x % LANES;
  const int sub = threadIdx.x % 32 / LANES;
  const int packs = static_cast<int>(cols) / VEC;
  // the first row of the warp: the same in all of its lanes
  long long first = static_cast<long long>(blockIdx.x) * (BLOCK / LANES) + threadIdx.x / 32 * (32 / LANES);

  Pack raw[PACKS];
  fetch<PACKS>(raw, x, first + sub, rows, cols, lane, LANES);
  for (; first < rows; first += stride) {
    float v[PACKS][VEC];
    float m = widen<PACKS>(v, raw);
    if (PIPE > 0) fetch<PACKS>(raw, x, first + stride + sub, rows, cols, lane, LANES);

#pragma unroll
    for (int d = LANES / 2; d > 0; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
    float sum = exponentials<PACKS>(v, m);
#pragma unroll
    for (int d = LANES / 2; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);

    const long long row = first + sub;
    if (row < rows) put<PACKS>(y + row * cols, v, 1.0f / sum, packs, lane, LANES);
    if (PIPE == 0) break;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_half3(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long cols) {
  group_rows<16, 3>(x, y, rows, cols);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_warp3(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long cols) {
  group_rows<32, 3>(x, y, rows, cols);
}

// One block per row of at most blockDim.x * ITEMS elements. Each warp sums relative to its own
// maximum, and one barrier per row combines the warps' (maximum, sum). `partial` alternates: a slot
// is written again two rows later, after a barrier that follows its last read.
extern "C" __global__ void __launch_bounds__(512)
softmax_pipe(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long cols) {
  __shared__ float maxima[2][16];
  __shared__ float sums[2][16];
  constexpr int PACKS = ITEMS / VEC;
  const int threads = blockDim.x;
  const int t = threadIdx.x;
  const int lane = t % 32;
  const int packs = static_cast<int>(cols) / VEC;

  Pack raw[PACKS];
  fetch<PACKS>(raw, x, blockIdx.x, rows, cols, t, threads);
  int slot = 0;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    float v[PACKS][VEC];
    float m = widen<PACKS>(v, raw);
    if (PIPE > 0) fetch<PACKS>(raw, x, row + gridDim.x, rows, cols, t, threads);

    m = warp_max(m);
    // a warp of nothing but -Inf (or NaN, or padding) must not turn its own zeros into NaN
    const float sum = warp_sum(exponentials<PACKS>(v, m == -INFINITY ? 0.0f : m));
    if (lane == 0) {
      maxima[slot][t / 32] = m;
      sums[slot][t / 32] = sum;
    }
    __syncthreads();
    const bool some = lane < threads / 32;
    const float their_m = some ? maxima[slot][lane] : -INFINITY;
    const float their_sum = some ? sums[slot][lane] : 0.0f;
    const float top = warp_max(their_m);      // -Inf or +Inf: NaN below, for the whole row
    const float total = warp_sum(their_sum * expf(their_m - top));
    put<PACKS>(y + row * cols, v, expf(m - top) / total, packs, t, threads);
    if (PIPE == 0) break;
    slot ^= 1;
  }
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
      const Pack p = load_once(in + i);
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
      store(to + i, p);
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
      const Pack p = load_once(in + i);
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
      store(to + i, p);
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
