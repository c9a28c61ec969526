/*@plan
xc = contiguous(x)
w = contiguous(conv2d_weight)
channels, h, wd = xc.shape[1], xc.shape[2], xc.shape[3]
planes = xc.shape[0] * channels
ho, wo = out.shape[2], out.shape[3]
vec = define("VEC", 2 if wd % 2 == 0 and xc.align >= 8 else 1)
groups = cdiv(wo, vec)
block = 256 if groups > 128 else (128 if groups > 64 else 64)
tiles = cdiv(ho, 16)
if out.numel > 0:
    launch("dw3x3", grid=(planes * tiles, cdiv(groups, block)), block=block, args=[xc, w, out, tiles, channels, h, wd, ho, wo])
@*/
__device__ __forceinline__ void load_row(float (&to)[VEC + 2], const float* __restrict__ from) {
#if VEC == 2
  const float2 a = *reinterpret_cast<const float2*>(from);
  const float2 b = *reinterpret_cast<const float2*>(from + 2);
  to[0] = a.x;
  to[1] = a.y;
  to[2] = b.x;
  to[3] = b.y;
#else
  to[0] = from[0];
  to[1] = from[1];
  to[2] = from[2];
#endif
}

extern "C" __global__ void __launch_bounds__(256)
dw3x3(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ out,
      long long tiles_ll, long long channels_ll, long long h_ll, long long w_ll, long long ho_ll,
      long long wo_ll) {
  const unsigned tiles = static_cast<unsigned>(tiles_ll), channels = static_cast<unsigned>(channels_ll);
  const int h = static_cast<int>(h_ll), w = static_cast<int>(w_ll);
  const int ho = static_cast<int>(ho_ll), wo = static_cast<int>(wo_ll);
  const unsigned plane = blockIdx.x / tiles;
  const int row0 = static_cast<int>(blockIdx.x % tiles) * 16;
  const int c = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x) * VEC;
  if (c >= wo) return;
  float k[9];
  const float* kw = weight + static_cast<long long>(plane % channels) * 9;
#pragma unroll
  for (int t = 0; t < 9; ++t) k[t] = kw[t];
  const float* in = x + static_cast<long long>(plane) * h * w + c;
  float* to = out + static_cast<long long>(plane) * ho * wo + c;

  float r[6][VEC + 2];                          // two rows of before and four new ones
  load_row(r[0], in + static_cast<long long>(row0) * w);
  load_row(r[1], in + static_cast<long long>(row0 + 1) * w);
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    const int base = row0 + b * 4;
    if (base < ho) {
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const int row = min(base + 2 + u, h - 1);
        load_row(r[2 + u], in + static_cast<long long>(row) * w);
      }
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        float v[VEC];
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          float s = r[u][e] * k[0];
          s = fmaf(r[u][e + 1], k[1], s);
          s = fmaf(r[u][e + 2], k[2], s);
          s = fmaf(r[u + 1][e], k[3], s);
          s = fmaf(r[u + 1][e + 1], k[4], s);
          s = fmaf(r[u + 1][e + 2], k[5], s);
          s = fmaf(r[u + 2][e], k[6], s);
          s = fmaf(r[u + 2][e + 1], k[7], s);
          s = fmaf(r[u + 2][e + 2], k[8], s);
          v[e] = s;
        }
        if (base + u < ho) {
          float* at = to + static_cast<long long>(base + u) * wo;
#if VEC == 2
          *reinterpret_cast<float2*>(at) = make_float2(v[0], v[1]);
#else
          at[0] = v[0];
#endif
        }
      }
#pragma unroll
      for (int e = 0; e < VEC + 2; ++e) {
        r[0][e] = r[4][e];
        r[1][e] = r[5][e];
      }
    }
  }
}
