/*@plan
xc = contiguous(x)
w = contiguous(conv_weight)
cb = contiguous(conv_bias)
batch, cin = xc.shape[0], xc.shape[1]
h, wd = xc.shape[2], xc.shape[3]
oc = w.shape[0]
po, pw = out.shape[2], out.shape[3]
octiles = cdiv(oc, 128)
chunks = cdiv(cin, 4)
total = octiles * chunks * 36 * 128
wt = scratch(max(total * 4, 256))
if out.numel > 0:
    th = cdiv(po, 4)
    tw = cdiv(pw, 8)
    launch("prep", grid=cdiv(total, 256), block=256, args=[w, ptr(wt, 0), total, oc, cin, chunks])
    launch("conv_pool", grid=(tw * th * batch, octiles), block=256, args=[xc, ptr(wt, 0), cb, out, cin, h, wd, oc, po, pw, tw, th, chunks])
@*/
__device__ __forceinline__ void cp16(float* s, const float* g) {
  const unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(a), "l"(g) : "memory");
}
__device__ __forceinline__ void cp4(float* s, const float* g) {
  const unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(a), "l"(g) : "memory");
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
__device__ __forceinline__ void cp_wait_all() { asm volatile("cp.async.wait_group 0;\n" ::: "memory"); }

// weights as [tile of 128 output channels][input channel, tap][128], zeros outside
extern "C" __global__ void __launch_bounds__(256)
prep(const float* __restrict__ w, float* __restrict__ wt, long long total, long long oc, long long cin,
     long long chunks) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= total) return;
  const long long o = i % 128, rest = i / 128;
  const long long depth = chunks * 36;
  const long long kt = rest % depth, tile = rest / depth;
  const long long channel = tile * 128 + o;
  wt[i] = channel < oc && kt < cin * 9 ? w[channel * cin * 9 + kt] : 0.0f;
}

constexpr int kRow = 24;                        // a patch row of 18, padded against bank conflicts
constexpr int kPatch = 10 * kRow;

// 4 input channels: 36 rows of 128 weights, and patches of 10 by 18 pixels
__device__ __forceinline__ void load_chunk(float* ws, float* xs, const float* __restrict__ wt,
                                           const float* __restrict__ x, int channels_left, int h, int w,
                                           int y0, int x0) {
  const int tid = threadIdx.x;
#pragma unroll
  for (int u = 0; u < 5; ++u) {
    const int i = tid + u * 256;
    if (i < 36 * 32) cp16(ws + i * 4, wt + i * 4);
  }
#pragma unroll
  for (int u = 0; u < 3; ++u) {
    const int e = tid + u * 256;
    if (e < 720) {
      const int ci = e / 180, in_patch = e - ci * 180;
      const int r = in_patch / 18, c = in_patch - r * 18;
      float* d = xs + ci * kPatch + r * kRow + c;
      const int gy = y0 + r, gx = x0 + c;
      if (ci < channels_left && gy < h && gx < w)
        cp4(d, x + (static_cast<long long>(ci) * h + gy) * w + gx);
      else
        *d = 0.0f;
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
conv_pool(const float* __restrict__ x, const float* __restrict__ wt, const float* __restrict__ bias,
          float* __restrict__ out, long long cin_ll, long long h_ll, long long w_ll, long long oc,
          long long po, long long pw, long long tw_ll, long long th_ll, long long chunks_ll) {
  __shared__ __align__(16) float ws[2][36 * 128];
  __shared__ __align__(16) float xs[2][4 * kPatch];
  const int cin = static_cast<int>(cin_ll), h = static_cast<int>(h_ll), w = static_cast<int>(w_ll);
  const unsigned tw = static_cast<unsigned>(tw_ll), th = static_cast<unsigned>(th_ll);
  const int chunks = static_cast<int>(chunks_ll);
  const unsigned tile_x = blockIdx.x % tw, rest = blockIdx.x / tw;
  const unsigned tile_y = rest % th, image = rest / th;
  const int y0 = static_cast<int>(tile_y) * 8, x0 = static_cast<int>(tile_x) * 16;
  const float* in = x + static_cast<long long>(image) * cin * h * w;
  const float* wtile = wt + static_cast<long long>(blockIdx.y) * chunks * (36 * 128);
  const long long chunk_size = 4LL * h * w;

  const int tid = threadIdx.x;
  const int pcol = tid & 3, prow = (tid >> 2) & 3, og = tid >> 4;
  float acc[8][8];                              // 8 output channels by 2x4 pixels
#pragma unroll
  for (int o = 0; o < 8; ++o)
#pragma unroll
    for (int p = 0; p < 8; ++p) acc[o][p] = 0.0f;

  if (chunks > 0) load_chunk(ws[0], xs[0], wtile, in, cin, h, w, y0, x0);
  cp_commit();
#pragma unroll 1
  for (int t = 0; t < chunks; ++t) {
    cp_wait_all();
    __syncthreads();                            // chunk t is here, the other buffer is used up
    const int now = t & 1;
    if (t + 1 < chunks)
      load_chunk(ws[now ^ 1], xs[now ^ 1], wtile + (t + 1) * (36LL * 128), in + (t + 1) * chunk_size,
                 cin - (t + 1) * 4, h, w, y0, x0);
    cp_commit();
    const float* wp = ws[now] + og * 8;
    const float* xp = xs[now] + prow * 2 * kRow + pcol * 4;
#pragma unroll 1
    for (int ci = 0; ci < 4; ++ci) {
      float v[4][6];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const float4 a = *reinterpret_cast<const float4*>(xp + r * kRow);
        const float2 b = *reinterpret_cast<const float2*>(xp + r * kRow + 4);
        v[r][0] = a.x;
        v[r][1] = a.y;
        v[r][2] = a.z;
        v[r][3] = a.w;
        v[r][4] = b.x;
        v[r][5] = b.y;
      }
#pragma unroll
      for (int ky = 0; ky < 3; ++ky)
#pragma unroll
        for (int kx = 0; kx < 3; ++kx) {
          const float4 a = *reinterpret_cast<const float4*>(wp + (ky * 3 + kx) * 128);
          const float4 b = *reinterpret_cast<const float4*>(wp + (ky * 3 + kx) * 128 + 4);
          const float k[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
          for (int o = 0; o < 8; ++o)
#pragma unroll
            for (int pr = 0; pr < 2; ++pr)
#pragma unroll
              for (int pc = 0; pc < 4; ++pc)
                acc[o][pr * 4 + pc] = fmaf(k[o], v[pr + ky][pc + kx], acc[o][pr * 4 + pc]);
        }
      wp += 9 * 128;
      xp += kPatch;
    }
  }

  const long long py = static_cast<long long>(tile_y) * 4 + prow;
  const long long px = static_cast<long long>(tile_x) * 8 + pcol * 2;
  if (py < po) {
#pragma unroll
    for (int o = 0; o < 8; ++o) {
      const long long channel = blockIdx.y * 128LL + og * 8 + o;
      if (channel < oc) {
        const float b = bias[channel];
        float* to = out + ((image * oc + channel) * po + py) * pw;
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          if (px + q < pw) {
            float s = 0.0f;
#pragma unroll
            for (int pr = 0; pr < 2; ++pr)
#pragma unroll
              for (int pc = 0; pc < 2; ++pc)
                s += tanhf(acc[o][pr * 4 + q * 2 + pc] + b - 0.5f) - 0.2f;
            to[px + q] = s * 0.25f;
          }
        }
      }
    }
  }
}
