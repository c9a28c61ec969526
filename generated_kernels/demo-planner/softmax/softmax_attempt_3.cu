/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
n = x.shape[d] if x.ndim > 0 else 1
inner = 1
for i in range(x.ndim):
    if i > d:
        inner = inner * x.shape[i]
slices = x.numel // max(n, 1)
if inner == 1:
    vec = define("VEC", 16 // x.itemsize if x.align >= 16 and n % (16 // x.itemsize) == 0 else 1)
    if n <= 512:
        define("GROUP", 32)
        block = param("BLOCK", [128, 256])
        launch("softmax_held", grid=cdiv(slices, block // 32), block=block, args=[x, out, slices, n])
    elif n <= 8192:
        define("GROUP", 512)
        block = define("BLOCK", 512)
        launch("softmax_held", grid=slices, block=block, args=[x, out, slices, n])
    else:
        define("GROUP", 0)
        block = define("BLOCK", 256)
        launch("softmax_rows", grid=min(slices, 32 * sm_count), block=block, args=[x, out, slices, n])
else:
    define("VEC", 1)
    define("GROUP", 0)
    block = define("BLOCK", 256)
    launch("softmax_columns", grid=min(cdiv(slices, block), 32 * sm_count), block=block, args=[x, out, slices, n, inner])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };

#if GROUP
constexpr int PACKS = 16 / VEC;

struct Largest { __device__ static float of(float a, float b) { return fmaxf(a, b); } };
struct Total { __device__ static float of(float a, float b) { return a + b; } };

template <typename Op>
__device__ __forceinline__ float reduce(float v, float* partial) {
  for (int o = 16; o > 0; o >>= 1) v = Op::of(v, __shfl_xor_sync(0xffffffffu, v, o));
#if GROUP > 32
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = partial[0];
#pragma unroll
  for (int w = 1; w < GROUP / 32; ++w) v = Op::of(v, partial[w]);
#endif
  return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_held(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long n) {
  __shared__ float tops[GROUP / 32];
  __shared__ float sums[GROUP / 32];
  const int lane = threadIdx.x % GROUP;
  const int packs = static_cast<int>(n / VEC);
  const long long row = (long long)blockIdx.x * (BLOCK / GROUP) + threadIdx.x / GROUP;
  if (row < rows) {
    const Pack* in = reinterpret_cast<const Pack*>(x + row * n);
    float m = -INFINITY;
    float e[PACKS][VEC];
#pragma unroll
    for (int p = 0; p < PACKS; ++p)
      if (lane + p * GROUP < packs) {
        const Pack held = in[lane + p * GROUP];
#pragma unroll
        for (int k = 0; k < VEC; ++k) e[p][k] = kg::to_float(held.v[k]);
      } else {
#pragma unroll
        for (int k = 0; k < VEC; ++k) e[p][k] = -INFINITY;
      }
#pragma unroll
    for (int p = 0; p < PACKS; ++p)
#pragma unroll
      for (int k = 0; k < VEC; ++k) m = fmaxf(m, e[p][k]);
    m = reduce<Largest>(m, tops);
    float s = 0.0f;
#pragma unroll
    for (int p = 0; p < PACKS; ++p)
      if (lane + p * GROUP < packs) {
#pragma unroll
        for (int k = 0; k < VEC; ++k) {
          e[p][k] = expf(e[p][k] - m);
          s += e[p][k];
        }
      }
    s = 1.0f / reduce<Total>(s, sums);
    Pack* to = reinterpret_cast<Pack*>(y + row * n);
#pragma unroll
    for (int p = 0; p < PACKS; ++p)
      if (lane + p * GROUP < packs) {
        Pack r;
#pragma unroll
        for (int k = 0; k < VEC; ++k) r.v[k] = kg::from_float<T_out>(e[p][k] * s);
        to[lane + p * GROUP] = r;
      }
  }
}
#endif

__device__ __forceinline__ void add(float& m, float& s, float v) {
  if (v == -INFINITY) return;
  if (v > m) {
    s = s * expf(m - v) + expf(v - v);
    m = v;
  } else {
    s += expf(v - m);
  }
}

__device__ __forceinline__ float factor(float from, float to) { return from == to ? 1.0f : expf(from - to); }

__device__ __forceinline__ void merge(float& m, float& s, float m2, float s2) {
  const float top = fmaxf(m, m2);
  s = s * factor(m, top) + s2 * factor(m2, top);
  m = top;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_rows(const T_self* __restrict__ x, T_out* __restrict__ y, long long rows, long long n) {
  __shared__ float ms[BLOCK / 32];
  __shared__ float ss[BLOCK / 32];
  const long long packs = n / VEC;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const Pack* in = reinterpret_cast<const Pack*>(x + row * n);
    float m = -INFINITY, s = 0.0f;
    for (long long i = threadIdx.x; i < packs; i += BLOCK) {
      const Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) add(m, s, kg::to_float(p.v[k]));
    }
    for (int o = 16; o > 0; o >>= 1) {
      const float m2 = __shfl_xor_sync(0xffffffffu, m, o);
      const float s2 = __shfl_xor_sync(0xffffffffu, s, o);
      merge(m, s, m2, s2);
    }
    if (threadIdx.x % 32 == 0) {
      ms[threadIdx.x / 32] = m;
      ss[threadIdx.x / 32] = s;
    }
    __syncthreads();
    m = ms[0];
    s = ss[0];
#pragma unroll
    for (int w = 1; w < BLOCK / 32; ++w) merge(m, s, ms[w], ss[w]);
    __syncthreads();
    Pack* to = reinterpret_cast<Pack*>(y + row * n);
    for (long long i = threadIdx.x; i < packs; i += BLOCK) {
      Pack p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) p.v[k] = kg::from_float<T_out>(expf(kg::to_float(p.v[k]) - m) / s);
      to[i] = p;
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_columns(const T_self* __restrict__ x, T_out* __restrict__ y, long long slices, long long n, long long inner) {
  for (long long c = blockIdx.x * (long long)BLOCK + threadIdx.x; c < slices; c += (long long)gridDim.x * BLOCK) {
    const long long base = c / inner * inner * n + c % inner;
    float m = -INFINITY, s = 0.0f;
    for (long long i = 0; i < n; ++i) add(m, s, kg::to_float(x[base + i * inner]));
    for (long long i = 0; i < n; ++i) {
      const long long at = base + i * inner;
      y[at] = kg::from_float<T_out>(expf(kg::to_float(x[at]) - m) / s);
    }
  }
}
