/*@plan
xc = contiguous(x)
w = contiguous(ln_weight)
b = contiguous(ln_bias)
rows = xc.shape[0]
cols = prod(xc.shape, 1, xc.ndim)
vec = define("VEC", 4 if cols % 4 == 0 and min(xc.align, w.align, b.align) >= 16 else 1)
if xc.numel > 0:
    splits = min(64, cdiv(cols, 4096))
    per = align_up(cdiv(cols, splits), 4)
    parts = scratch(rows * splits * 16)
    stats = scratch(rows * 8)
    launch("ln_partial", grid=rows * splits, block=256, args=[xc, ptr(parts, 0), rows, cols, splits, per])
    launch("ln_final", grid=rows, block=32, args=[ptr(parts, 0), ptr(stats, 0), splits, cols])
    launch("ln_apply", grid=(cdiv(cols, 256 * vec), cdiv(rows, 16)), block=256, args=[xc, w, b, out, ptr(stats, 0), rows, cols])
@*/
struct alignas(VEC * 4) Pack { float v[VEC]; };

// Chan's merge of (count, mean, sum of squared deviations)
__device__ __forceinline__ void merge(float& n, float& mean, float& m2, float nb, float mb, float m2b) {
  if (nb == 0.0f) return;
  if (n == 0.0f) {
    n = nb;
    mean = mb;
    m2 = m2b;
    return;
  }
  const float total = n + nb;
  const float d = mb - mean;
  const float f = nb / total;
  mean = fmaf(d, f, mean);
  m2 += m2b + d * d * (n * f);
  n = total;
}

__device__ __forceinline__ void merge_warp(float& n, float& mean, float& m2) {
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    const float nb = __shfl_xor_sync(0xffffffffu, n, d);
    const float mb = __shfl_xor_sync(0xffffffffu, mean, d);
    const float m2b = __shfl_xor_sync(0xffffffffu, m2, d);
    merge(n, mean, m2, nb, mb, m2b);
  }
}

extern "C" __global__ void __launch_bounds__(256)
ln_partial(const float* __restrict__ x, float4* __restrict__ parts, long long rows, long long cols,
           long long splits, long long per) {
  __shared__ float sn[8], sm[8], sq[8];
  const long long row = blockIdx.x % rows, split = blockIdx.x / rows;
  const long long begin = split * per;
  const long long end = begin + per < cols ? begin + per : cols;
  const Pack* in = reinterpret_cast<const Pack*>(x + row * cols);
  const long long last = end / VEC;             // begin, and end with VEC 4, are multiples of VEC
  float n = 0.0f, mean = 0.0f, m2 = 0.0f;
  for (long long i = begin / VEC + threadIdx.x; i < last; i += 1024) {
    Pack p[4];
    float c = 0.0f, s = 0.0f;
#pragma unroll
    for (int u = 0; u < 4; ++u) {
#pragma unroll
      for (int k = 0; k < VEC; ++k) p[u].v[k] = 0.0f;
      if (i + u * 256 < last) p[u] = in[i + u * 256];
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (i + u * 256 < last) {
        c += static_cast<float>(VEC);
#pragma unroll
        for (int k = 0; k < VEC; ++k) s += p[u].v[k];
      }
    }
    const float gm = s / c;
    float q = 0.0f;
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (i + u * 256 < last) {
#pragma unroll
        for (int k = 0; k < VEC; ++k) {
          const float d = p[u].v[k] - gm;
          q = fmaf(d, d, q);
        }
      }
    }
    merge(n, mean, m2, c, gm, q);
  }
  merge_warp(n, mean, m2);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (lane == 0) {
    sn[warp] = n;
    sm[warp] = mean;
    sq[warp] = m2;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 8; ++k) merge(n, mean, m2, sn[k], sm[k], sq[k]);
    parts[row * splits + split] = make_float4(n, mean, m2, 0.0f);
  }
}

extern "C" __global__ void __launch_bounds__(32)
ln_final(const float4* __restrict__ parts, float2* __restrict__ stats, long long splits, long long cols) {
  const long long row = blockIdx.x;
  float n = 0.0f, mean = 0.0f, m2 = 0.0f;
  for (long long i = threadIdx.x; i < splits; i += 32) {
    const float4 p = parts[row * splits + i];
    merge(n, mean, m2, p.x, p.y, p.z);
  }
  merge_warp(n, mean, m2);
  if (threadIdx.x == 0) {
    const float var = m2 / static_cast<float>(cols);
    stats[row] = make_float2(mean, 1.0f / sqrtf(var + 1e-5f));
  }
}

extern "C" __global__ void __launch_bounds__(256)
ln_apply(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
         float* __restrict__ out, const float2* __restrict__ stats, long long rows, long long cols) {
  const long long packs = cols / VEC;
  // backwards: what the first pass read last is still in L2
  const long long i = static_cast<long long>(gridDim.x - 1 - blockIdx.x) * 256 + threadIdx.x;
  if (i >= packs) return;
  const Pack wp = reinterpret_cast<const Pack*>(w)[i];
  const Pack bp = reinterpret_cast<const Pack*>(b)[i];
  const long long first = blockIdx.y * 16LL;
  const long long last = first + 16 < rows ? first + 16 : rows;
  for (long long r0 = first; r0 < last; r0 += 4) {
    Pack p[4];
#pragma unroll
    for (int u = 0; u < 4; ++u)
      if (r0 + u < last) p[u] = reinterpret_cast<const Pack*>(x + (r0 + u) * cols)[i];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (r0 + u < last) {
        const float2 st = stats[r0 + u];
        Pack o;
#pragma unroll
        for (int k = 0; k < VEC; ++k) o.v[k] = fmaf((p[u].v[k] - st.x) * st.y, wp.v[k], bp.v[k]);
        reinterpret_cast<Pack*>(out + (r0 + u) * cols)[i] = o;
      }
    }
  }
}
