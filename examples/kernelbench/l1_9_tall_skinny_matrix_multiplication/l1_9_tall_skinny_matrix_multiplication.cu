/*@plan
m = a.shape[0]
k = a.shape[1]
n = b.shape[1]
fast = k == 32 and m % 128 == 0 and n % 128 == 0 and a.contiguous and b.contiguous and min(a.align, b.align) >= 16 and a.dtype == "f32"
if fast:
    tiles = n // 128
    launch("skinny", grid=(cdiv(tiles, 8), m // 128), block=256, smem=(32 * 132 + 2 * 32 * 128) * 4, args=[a, b, out, n, tiles])
else:
    launch("general", grid=(cdiv(n, 64), cdiv(m, 64)), block=(16, 16), args=[a, b, out, m, n, k, a.stride[0], a.stride[1], b.stride[0], b.stride[1]])
@*/
#include <cuda_pipeline.h>

// k = 32, whole tiles. A block keeps 128 rows of a and walks up to 8 tiles of 128 columns.
extern "C" __global__ void __launch_bounds__(256, 2)
skinny(const T_a* __restrict__ a, const T_b* __restrict__ b, T_out* __restrict__ out,
       long long n, long long tiles) {
  extern __shared__ __align__(16) float smem[];
  float* as = smem;                              // [32][132], transposed
  float* bs = smem + 32 * 132;                   // [2][32][128]
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const long long row0 = blockIdx.y * 128LL;
  const long long tile0 = blockIdx.x * 8LL;
  const long long left = tiles - tile0;
  const int count = left < 8 ? static_cast<int>(left) : 8;

  const float* bg = reinterpret_cast<const float*>(b) + (tid >> 5) * n + tile0 * 128 + (tid & 31) * 4;
  float* bd = bs + (tid >> 5) * 128 + (tid & 31) * 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) __pipeline_memcpy_async(bd + i * 8 * 128, bg + i * 8 * n, 16);
  __pipeline_commit();

  {
    const float* ag = reinterpret_cast<const float*>(a) + row0 * 32;
    float4 v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = reinterpret_cast<const float4*>(ag)[tid + i * 256];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = (tid + i * 256) >> 3, q = (tid & 7) * 4;
      as[(q + 0) * 132 + r] = v[i].x;
      as[(q + 1) * 132 + r] = v[i].y;
      as[(q + 2) * 132 + r] = v[i].z;
      as[(q + 3) * 132 + r] = v[i].w;
    }
  }

  const int ar = (warp >> 1) * 32 + (lane >> 3) * 4;   // rows ar.. and ar + 16..
  const int bc = (warp & 1) * 64 + (lane & 7) * 4;     // columns bc.. and bc + 32..
  for (int t = 0; t < count; ++t) {
    if (t + 1 < count) {
      const float* src = bg + (t + 1) * 128;
      float* dst = bd + ((t + 1) & 1) * 4096;
#pragma unroll
      for (int i = 0; i < 4; ++i) __pipeline_memcpy_async(dst + i * 8 * 128, src + i * 8 * n, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();                             // this tile has arrived for every thread
    const float* bt = bs + (t & 1) * 4096;
    float acc[8][8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;
#pragma unroll 8
    for (int kk = 0; kk < 32; ++kk) {
      const float4 a0 = *reinterpret_cast<const float4*>(as + kk * 132 + ar);
      const float4 a1 = *reinterpret_cast<const float4*>(as + kk * 132 + ar + 16);
      const float4 b0 = *reinterpret_cast<const float4*>(bt + kk * 128 + bc);
      const float4 b1 = *reinterpret_cast<const float4*>(bt + kk * 128 + bc + 32);
      const float x[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float y[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
    }
    float* o = reinterpret_cast<float*>(out) + (row0 + ar) * n + (tile0 + t) * 128 + bc;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float* p = o + ((i & 3) + (i >> 2) * 16) * n;
      *reinterpret_cast<float4*>(p) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
      *reinterpret_cast<float4*>(p + 32) = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
    }
    __syncthreads();                             // used up before it is written again
  }
}

extern "C" __global__ void __launch_bounds__(256)
general(const T_a* __restrict__ a, const T_b* __restrict__ b, T_out* __restrict__ out,
        long long m, long long n, long long k,
        long long a_row, long long a_col, long long b_row, long long b_col) {
  __shared__ float as[16][64 + 2];
  __shared__ float bs[16][64];
  const int tid = threadIdx.y * 16 + threadIdx.x;
  const long long row0 = blockIdx.y * 64LL, col0 = blockIdx.x * 64LL;
  float sum[4][4] = {};
  for (long long k0 = 0; k0 < k; k0 += 16) {
    for (int i = tid; i < 64 * 16; i += 256) {   // zeros outside keep every tile whole
      const int ar = i / 16, ak = i % 16, bk = i / 64, bc = i % 64;
      as[ak][ar] = row0 + ar < m && k0 + ak < k
                       ? kg::to_float(a[(row0 + ar) * a_row + (k0 + ak) * a_col]) : 0.0f;
      bs[bk][bc] = k0 + bk < k && col0 + bc < n
                       ? kg::to_float(b[(k0 + bk) * b_row + (col0 + bc) * b_col]) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      float x[4], y[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        x[i] = as[kk][threadIdx.y * 4 + i];
        y[i] = bs[kk][threadIdx.x * 4 + i];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long r = row0 + threadIdx.y * 4 + i, c = col0 + threadIdx.x * 4 + j;
      if (r < m && c < n) out[r * n + c] = kg::from_float<T_out>(sum[i][j]);
    }
}
