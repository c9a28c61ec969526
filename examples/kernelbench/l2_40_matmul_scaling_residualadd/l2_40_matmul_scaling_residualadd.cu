/*@plan
xc = contiguous(x)
wc = contiguous(matmul_weight)
bc = contiguous(matmul_bias)
m = xc.shape[0]
k = xc.shape[1]
n = wc.shape[0]
vec = define("VEC", 4 if xc.dtype == "f32" and wc.dtype == "f32" and min(xc.align, wc.align) >= 16 and k % 4 == 0 else 1)
launch("gemm", grid=(cdiv(n, 128), cdiv(m, 128)), block=256, args=[xc, wc, bc, out, m, n, k])
@*/
template <typename T>
__device__ __forceinline__ float4 load4(const T* p, int left) {   // zeros past the inner dimension
#if VEC == 4
  return left > 0 ? *reinterpret_cast<const float4*>(p) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#else
  float4 v;
  v.x = left > 0 ? kg::to_float(p[0]) : 0.0f;
  v.y = left > 1 ? kg::to_float(p[1]) : 0.0f;
  v.z = left > 2 ? kg::to_float(p[2]) : 0.0f;
  v.w = left > 3 ? kg::to_float(p[3]) : 0.0f;
  return v;
#endif
}

// rows s and s + 64 of a tile, transposed; s is already swizzled so that the stores meet 32 banks
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

// acc[i][j]: row ar + i (i < 4) or ar + 12 + i, column bc + j (j < 4) or bc + 28 + j of the tile.
// Rows and columns outside repeat the last one: their results are not used.
__device__ __forceinline__ void multiply(float (&acc)[8][8], float (&as)[2][2048],
                                         float (&bs)[2][2048], const T_x* __restrict__ x,
                                         const T_matmul_weight* __restrict__ w, long long row0,
                                         long long col0, long long m, long long n, int k,
                                         int ar, int bc) {
  const int tid = threadIdx.x;
  const int lr = tid >> 2, kq = tid & 3, s = lr ^ (kq * 8);
  const long long ra = row0 + lr < m ? row0 + lr : m - 1;
  const long long rb = row0 + lr + 64 < m ? row0 + lr + 64 : m - 1;
  const long long ca = col0 + lr < n ? col0 + lr : n - 1;
  const long long cb = col0 + lr + 64 < n ? col0 + lr + 64 : n - 1;
  const T_x* pa = x + ra * k + kq * 4;
  const T_x* pb = x + rb * k + kq * 4;
  const T_matmul_weight* qa = w + ca * k + kq * 4;
  const T_matmul_weight* qb = w + cb * k + kq * 4;
  int left = k - kq * 4;
  const int tiles = (k + 15) / 16;

  float4 va = load4(pa, left), vb = load4(pb, left);
  float4 wa = load4(qa, left), wb = load4(qb, left);
  put(as[0], kq, s, va, vb);
  put(bs[0], kq, s, wa, wb);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;

  for (int t = 0; t < tiles; ++t) {
    const float* at = as[t & 1];
    const float* bt = bs[t & 1];
    const bool more = t + 1 < tiles;
    if (more) {                                  // under way while this tile is used
      left -= 16;
      pa += 16;
      pb += 16;
      qa += 16;
      qb += 16;
      va = load4(pa, left);
      vb = load4(pb, left);
      wa = load4(qa, left);
      wb = load4(qb, left);
    }
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      const int sw = (kk >> 2) * 8;
      const float4 a0 = *reinterpret_cast<const float4*>(at + kk * 128 + (ar ^ sw));
      const float4 a1 = *reinterpret_cast<const float4*>(at + kk * 128 + ((ar + 16) ^ sw));
      const float4 b0 = *reinterpret_cast<const float4*>(bt + kk * 128 + (bc ^ sw));
      const float4 b1 = *reinterpret_cast<const float4*>(bt + kk * 128 + (bc ^ sw) + 32);
      const float u[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float v[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(u[i], v[j], acc[i][j]);
    }
    if (more) {
      put(as[(t + 1) & 1], kq, s, va, vb);
      put(bs[(t + 1) & 1], kq, s, wa, wb);
    }
    __syncthreads();
  }
}

__device__ __forceinline__ float finish(float y) {
  return fmaf(0.5f, y, y);                       // y * 0.5 + y
}

extern "C" __global__ void __launch_bounds__(256, 2)
gemm(const T_x* __restrict__ x, const T_matmul_weight* __restrict__ w,
     const T_matmul_bias* __restrict__ bias, T_out* __restrict__ out, long long m, long long n,
     int k) {
  __shared__ __align__(16) float as[2][2048];
  __shared__ __align__(16) float bs[2][2048];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int ar = (warp >> 1) * 32 + (lane >> 3) * 4;
  const int bc = (warp & 1) * 64 + (lane & 7) * 4;
  const long long row0 = blockIdx.y * 128LL, col0 = blockIdx.x * 128LL;
  float acc[8][8];
  multiply(acc, as, bs, x, w, row0, col0, m, n, k, ar, bc);

  const bool whole = sizeof(T_out) == 4 && n % 4 == 0;    // rows start at multiples of 16 bytes
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const long long c = col0 + bc + h * 32;
    float b[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) b[j] = c + j < n ? kg::to_float(bias[c + j]) : 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const long long r = row0 + ar + (i & 3) + (i >> 2) * 16;
      if (r < m) {
        float y[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) y[j] = finish(acc[i][h * 4 + j] + b[j]);
        T_out* o = out + r * n + c;
        if (whole) {
          if (c < n) *reinterpret_cast<float4*>(o) = make_float4(y[0], y[1], y[2], y[3]);
        } else {
#pragma unroll
          for (int j = 0; j < 4; ++j)
            if (c + j < n) o[j] = kg::from_float<T_out>(y[j]);
        }
      }
    }
  }
}
