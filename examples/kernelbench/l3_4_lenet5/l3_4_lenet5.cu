/*@plan
xc = contiguous(x)
w1 = contiguous(conv1_weight)
b1 = contiguous(conv1_bias)
w2 = contiguous(conv2_weight)
b2 = contiguous(conv2_bias)
f1 = contiguous(fc1_weight)
g1 = contiguous(fc1_bias)
f2 = contiguous(fc2_weight)
g2 = contiguous(fc2_bias)
f3 = contiguous(fc3_weight)
g3 = contiguous(fc3_bias)
batch = xc.shape[0]
classes = f3.shape[0]
groups = cdiv(batch, 32)
wvec = define("WVEC", 4 if xc.dtype == "f32" and min(f1.align, f2.align, f3.align) >= 16 else 1)
feat = scratch(max(groups, 1) * 400 * 32 * 4)
launch("convs", grid=groups * 8, block=416, smem=(4 * 1472 + 4 * 1848 + 168 + 2688) * 4, args=[xc, w1, b1, w2, b2, ptr(feat, 0), batch])
launch("linears", grid=groups, block=256, smem=(12800 + 2 * 2048 + 4096) * 4, args=[ptr(feat, 0), f1, g1, f2, g2, f3, g3, out, batch, classes])
@*/
__device__ __forceinline__ float nan_max(float a, float b) { return (b > a || b != b) ? b : a; }
__device__ __forceinline__ float relu(float v) { return v < 0.0f ? 0.0f : v; }   // NaN stays

// 36 values of a 6x6 patch; rows are PITCH floats apart, the patch starts at an even offset
template <int PITCH>
__device__ __forceinline__ void patch6(float (&p)[6][6], const float* s) {
#pragma unroll
  for (int y = 0; y < 6; ++y)
#pragma unroll
    for (int h = 0; h < 3; ++h) {
      const float2 v = *reinterpret_cast<const float2*>(s + y * PITCH + h * 2);
      p[y][h * 2] = v.x;
      p[y][h * 2 + 1] = v.y;
    }
}

// adds a 5x5 convolution at the four places of a 2x2 pooling window
__device__ __forceinline__ void taps(float (&acc)[4], const float (&p)[6][6], const float* w28) {
  float w[28];
#pragma unroll
  for (int i = 0; i < 7; ++i) {
    const float4 v = *reinterpret_cast<const float4*>(w28 + i * 4);
    w[i * 4] = v.x;
    w[i * 4 + 1] = v.y;
    w[i * 4 + 2] = v.z;
    w[i * 4 + 3] = v.w;
  }
#pragma unroll
  for (int y = 0; y < 5; ++y)
#pragma unroll
    for (int x = 0; x < 5; ++x) {
      const float f = w[y * 5 + x];
      acc[0] = fmaf(p[y][x], f, acc[0]);
      acc[1] = fmaf(p[y][x + 1], f, acc[1]);
      acc[2] = fmaf(p[y + 1][x], f, acc[2]);
      acc[3] = fmaf(p[y + 1][x + 1], f, acc[3]);
    }
}

__device__ __forceinline__ float pooled(const float (&acc)[4], float bias) {
  float m = acc[0] + bias;
  m = nan_max(m, acc[1] + bias);
  m = nan_max(m, acc[2] + bias);
  m = nan_max(m, acc[3] + bias);
  return relu(m);                                // relu and maximum commute
}

// Four images per block. The features go to feat[image / 32][400][image % 32].
extern "C" __global__ void __launch_bounds__(416, 2)
convs(const T_x* __restrict__ x, const T_conv1_weight* __restrict__ w1g,
      const T_conv1_bias* __restrict__ b1, const T_conv2_weight* __restrict__ w2g,
      const T_conv2_bias* __restrict__ b2, float* __restrict__ feat, long long batch) {
  extern __shared__ __align__(16) float smem[];
  float* in = smem;                              // [4][32][46]
  float* p1 = in + 4 * 1472;                     // [4][6][14][22]
  float* w1 = p1 + 4 * 1848;                     // [6][28]
  float* w2 = w1 + 168;                          // [16][6][28]
  const int tid = threadIdx.x;
  const long long image0 = blockIdx.x * 4LL;

#pragma unroll 5
  for (int i = tid; i < 4096; i += 416) {
    const int img = i >> 10, at = i & 1023;
    in[img * 1472 + (at >> 5) * 46 + (at & 31)] =
        image0 + img < batch ? kg::to_float(x[(image0 + img) * 1024 + at]) : 0.0f;
  }
  for (int i = tid; i < 168; i += 416) {
    const int c = i / 28, t = i % 28;
    w1[i] = t < 25 ? kg::to_float(w1g[c * 25 + t]) : 0.0f;
  }
#pragma unroll 7
  for (int i = tid; i < 2688; i += 416) {
    const int c = i / 28, t = i % 28;
    w2[i] = t < 25 ? kg::to_float(w2g[c * 25 + t]) : 0.0f;
  }
  __syncthreads();

  if (tid < 392) {
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
      const int img = round * 2 + tid / 196, pos = tid % 196;
      const int py = pos / 14, px = pos % 14;
      float p[6][6];
      patch6<46>(p, in + img * 1472 + py * 2 * 46 + px * 2);
      float* to = p1 + img * 1848 + py * 22 + px;
#pragma unroll 1
      for (int c = 0; c < 6; ++c) {
        float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        taps(acc, p, w1 + c * 28);
        to[c * 308] = pooled(acc, kg::to_float(b1[c]));
      }
    }
  }
  __syncthreads();                               // p1 is complete, in is used up

  if (tid < 400) {
    const int cg = tid / 100, rem = tid % 100;
    const int img = rem / 25, pos = rem % 25;
    const int py = pos / 5, px = pos % 5;
    const float* from = p1 + img * 1848 + py * 2 * 22 + px * 2;
    float acc[4][4];
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int q = 0; q < 4; ++q) acc[c][q] = 0.0f;
#pragma unroll 1
    for (int ci = 0; ci < 6; ++ci) {
      float p[6][6];
      patch6<22>(p, from + ci * 308);
#pragma unroll
      for (int c = 0; c < 4; ++c) taps(acc[c], p, w2 + ((cg * 4 + c) * 6 + ci) * 28);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int f = (cg * 4 + c) * 25 + pos;
      in[f * 4 + img] = pooled(acc[c], kg::to_float(b2[cg * 4 + c]));
    }
  }
  __syncthreads();
  if (tid < 400) {
    float* to = feat + (image0 >> 5) * 12800 + tid * 32 + (image0 & 31);
    *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(in + tid * 4);
  }
}

template <typename T>
__device__ __forceinline__ float4 weights4(const T* w, int o, int n, int kk, int k) {
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (o < n && kk < k) {                         // k is a multiple of 4
    const T* p = w + static_cast<long long>(o) * k + kk;
#if WVEC == 4
    v = *reinterpret_cast<const float4*>(p);
#else
    v = make_float4(kg::to_float(p[0]), kg::to_float(p[1]), kg::to_float(p[2]), kg::to_float(p[3]));
#endif
  }
  return v;
}

__device__ __forceinline__ void put(float* t, int kq, int s, const float4& v, const float4& w) {
  t[(kq * 4 + 0) * 128 + s] = v.x;
  t[(kq * 4 + 1) * 128 + s] = v.y;
  t[(kq * 4 + 2) * 128 + s] = v.z;
  t[(kq * 4 + 3) * 128 + s] = v.w;
  t[(kq * 4 + 0) * 128 + s + 64] = w.x;
  t[(kq * 4 + 1) * 128 + s + 64] = w.y;
  t[(kq * 4 + 2) * 128 + s + 64] = w.z;
  t[(kq * 4 + 3) * 128 + s + 64] = w.w;
}

// acc[j][i]: output n0 + og * 4 + j of image ig * 4 + i. in: [k rounded up to 16][32].
// Starts with a barrier after the first tile of weights, ends with one.
template <typename T>
__device__ __forceinline__ void product(float (&acc)[4][4], const T* __restrict__ w, int n, int n0,
                                        int k, const float* in, float* ws) {
  const int tid = threadIdx.x, og = tid >> 3, ig = tid & 7;
  const int lo = tid >> 2, kq = tid & 3, s = lo ^ (kq * 8);
  const bool busy = n0 + og * 4 < n;
  const int tiles = (k + 15) / 16;
  float4 va = weights4(w, n0 + lo, n, kq * 4, k);
  float4 vb = weights4(w, n0 + lo + 64, n, kq * 4, k);
  put(ws, kq, s, va, vb);
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) acc[j][i] = 0.0f;
  __syncthreads();
  for (int t = 0; t < tiles; ++t) {
    const bool more = t + 1 < tiles;
    if (more) {
      va = weights4(w, n0 + lo, n, (t + 1) * 16 + kq * 4, k);
      vb = weights4(w, n0 + lo + 64, n, (t + 1) * 16 + kq * 4, k);
    }
    if (busy) {
      const float* wt = ws + (t & 1) * 2048;
      const float* it = in + t * 16 * 32 + ig * 4;
#pragma unroll
      for (int kk = 0; kk < 16; ++kk) {
        const float4 f = *reinterpret_cast<const float4*>(wt + kk * 128 + ((og * 4) ^ ((kk >> 2) * 8)));
        const float4 a = *reinterpret_cast<const float4*>(it + kk * 32);
        const float u[4] = {f.x, f.y, f.z, f.w};
        const float v[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i) acc[j][i] = fmaf(u[j], v[i], acc[j][i]);
      }
    }
    if (more) put(ws + ((t + 1) & 1) * 2048, kq, s, va, vb);
    __syncthreads();
  }
}

// relu(acc + bias) into to[128][32]; rows from n on become zeros, which pad the next layer
template <typename T>
__device__ __forceinline__ void keep(const float (&acc)[4][4], const T* __restrict__ bias, int n,
                                     float* to) {
  const int og = threadIdx.x >> 3, ig = threadIdx.x & 7;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int o = og * 4 + j;
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (o < n) {
      const float b = kg::to_float(bias[o]);
      v = make_float4(relu(acc[j][0] + b), relu(acc[j][1] + b), relu(acc[j][2] + b),
                      relu(acc[j][3] + b));
    }
    *reinterpret_cast<float4*>(to + o * 32 + ig * 4) = v;
  }
}

extern "C" __global__ void __launch_bounds__(256)
linears(const float* __restrict__ feat, const T_fc1_weight* __restrict__ f1,
        const T_fc1_bias* __restrict__ g1, const T_fc2_weight* __restrict__ f2,
        const T_fc2_bias* __restrict__ g2, const T_fc3_weight* __restrict__ f3,
        const T_fc3_bias* __restrict__ g3, T_out* __restrict__ out, long long batch, int classes) {
  extern __shared__ __align__(16) float smem[];
  float* xs = smem;                              // [400][32], later the second hidden layer
  float* ws = xs + 12800;                        // [2][16][128]
  float* h1 = ws + 2 * 2048;                     // [128][32]
  const float4* from = reinterpret_cast<const float4*>(feat + blockIdx.x * 12800LL);
#pragma unroll 4
  for (int i = threadIdx.x; i < 3200; i += 256) reinterpret_cast<float4*>(xs)[i] = from[i];

  float acc[4][4];
  product(acc, f1, 120, 0, 400, xs, ws);
  keep(acc, g1, 120, h1);
  product(acc, f2, 84, 0, 120, h1, ws);
  keep(acc, g2, 84, xs);
  const int og = threadIdx.x >> 3, ig = threadIdx.x & 7;
  for (int n0 = 0; n0 < classes; n0 += 128) {
    product(acc, f3, classes, n0, 84, xs, ws);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int o = n0 + og * 4 + j;
      if (o < classes) {
        const float b = kg::to_float(g3[o]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const long long img = blockIdx.x * 32LL + ig * 4 + i;
          if (img < batch) out[img * classes + o] = kg::from_float<T_out>(acc[j][i] + b);
        }
      }
    }
  }
}
