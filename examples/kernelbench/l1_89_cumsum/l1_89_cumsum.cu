/*@plan
xc = contiguous(x)
rows = xc.shape[0]
cols = xc.shape[1]
inner = 1
if xc.ndim > 2:
    inner = prod(xc.shape, 2, xc.ndim)
vec = define("VEC", 16 // xc.itemsize if xc.align >= 16 and cols % (16 // xc.itemsize) == 0 else 1)
if inner == 1:
    launch("scan_rows", grid=rows, block=256, args=[xc, out, cols])
else:
    launch("scan_columns", grid=cdiv(rows * inner, 128), block=128, args=[xc, out, rows * inner, cols, inner])
@*/
struct alignas(VEC * sizeof(T_x)) Pack { T_x v[VEC]; };
constexpr int NP = 16 / VEC;                     // packs per thread and chunk: 16 elements

// A chunk is 4096 elements, a warp's part of it 512.
__device__ __forceinline__ void load_chunk(float (&f)[NP][VEC], const T_x* __restrict__ in,
                                           long long at, long long cols) {
#pragma unroll
  for (int i = 0; i < NP; ++i) {
    const long long e = at + i * (32 * VEC);
    if (e < cols) {                              // cols is a multiple of VEC
      const Pack p = *reinterpret_cast<const Pack*>(in + e);
#pragma unroll
      for (int k = 0; k < VEC; ++k) f[i][k] = kg::to_float(p.v[k]);
    } else {
#pragma unroll
      for (int k = 0; k < VEC; ++k) f[i][k] = 0.0f;
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 4)
scan_rows(const T_x* __restrict__ x, T_out* __restrict__ out, long long cols) {
  __shared__ float tot[2][8];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const T_x* in = x + blockIdx.x * cols;
  T_out* to = out + blockIdx.x * cols;
  const long long first = warp * 512 + lane * VEC;
  float cur[NP][VEC], nxt[NP][VEC];
  load_chunk(cur, in, first, cols);
  float carry = 0.0f;
  int side = 0;
  for (long long c0 = 0; c0 < cols; c0 += 4096) {
    load_chunk(nxt, in, c0 + 4096 + first, cols);   // under way during the scan
    float before[NP], whole[NP];
#pragma unroll
    for (int i = 0; i < NP; ++i) {
#pragma unroll
      for (int k = 1; k < VEC; ++k) cur[i][k] += cur[i][k - 1];
      float s = cur[i][VEC - 1];
#pragma unroll
      for (int d = 1; d < 32; d <<= 1) {
        const float t = __shfl_up_sync(0xffffffffu, s, d);
        if (lane >= d) s += t;
      }
      const float e = __shfl_up_sync(0xffffffffu, s, 1);
      before[i] = lane == 0 ? 0.0f : e;
      whole[i] = __shfl_sync(0xffffffffu, s, 31);
    }
    float run = 0.0f;
#pragma unroll
    for (int i = 0; i < NP; ++i) {
      before[i] += run;
      run += whole[i];
    }
    if (lane == 0) tot[side][warp] = run;
    __syncthreads();                             // two sides: one barrier per chunk is enough
    float base = carry;
#pragma unroll
    for (int w = 0; w < 8; ++w) {
      const float t = tot[side][w];
      if (w < warp) base += t;
      carry += t;
    }
    side ^= 1;
#pragma unroll
    for (int i = 0; i < NP; ++i) {
      const long long e = c0 + first + i * (32 * VEC);
      if (e < cols) {
        const float b = base + before[i];
        Pack p;
#pragma unroll
        for (int k = 0; k < VEC; ++k) p.v[k] = kg::from_float<T_out>(b + cur[i][k]);
        *reinterpret_cast<Pack*>(to + e) = p;
      }
#pragma unroll
      for (int k = 0; k < VEC; ++k) cur[i][k] = nxt[i][k];
    }
  }
}

extern "C" __global__ void __launch_bounds__(128)
scan_columns(const T_x* __restrict__ x, T_out* __restrict__ out, long long lines, long long cols,
             long long inner) {
  const long long line = blockIdx.x * 128LL + threadIdx.x;
  if (line >= lines) return;
  const long long at = (line / inner) * cols * inner + line % inner;
  float sum = 0.0f;
#pragma unroll 8
  for (long long c = 0; c < cols; ++c) {
    sum += kg::to_float(x[at + c * inner]);
    out[at + c * inner] = kg::from_float<T_out>(sum);
  }
}
