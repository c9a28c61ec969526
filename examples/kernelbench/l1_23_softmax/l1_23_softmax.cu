/*@plan
xc = contiguous(x)
rows, cols = xc.shape[0], xc.shape[1]
packs = cols // 4
if cols % 4 == 0 and xc.align >= 16 and packs >= 16384 and packs <= 98304 and rows >= 16:
    clusters = param("CLUSTERS", [256, 16, 64])
    launch("softmax_cluster", grid=8 * min(clusters, rows), block=1024, smem=196608, args=[xc, out, rows, packs])
else:
    launch("softmax_rows", grid=min(rows, 32 * sm_count), block=256, args=[xc, out, rows, cols])
@*/
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ __forceinline__ void cp16(void* s, const void* g) {
  const unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(a), "l"(g) : "memory");
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int N>
__device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory"); }

// factor that moves a sum of exponentials from maximum m to maximum top
__device__ __forceinline__ float rescale(float m, float top) { return m == top ? 1.0f : expf(m - top); }

// A cluster of 8 blocks takes a row; every thread keeps its 12 packs in slots of shared memory that
// no other thread touches, so the next row is fetched into a slot as soon as it has been written out.
extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(1024, 1)
softmax_cluster(const float* __restrict__ x, float* __restrict__ out, long long rows, long long packs) {
  extern __shared__ __align__(16) float4 buf[];
  __shared__ float warp_max[32];
  __shared__ float warp_sum[32];
  __shared__ float2 part[2][8];
  cg::cluster_group cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int total = static_cast<int>(packs);
  const int per = (total + 7) / 8;
  const int first = rank * per;
  const int mine = max(0, min(per, total - first));
  const long long stride = gridDim.x / 8;
  const float4* in4 = reinterpret_cast<const float4*>(x) + first;
  float4* out4 = reinterpret_cast<float4*>(out) + first;

  long long row = blockIdx.x / 8;
#pragma unroll
  for (int g = 0; g < 3; ++g) {
    if (row < rows) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int p = (g * 4 + j) * 1024 + tid;
        if (p < mine) cp16(buf + p, in4 + row * packs + p);
      }
    }
    cp_commit();
  }
  cluster.sync();                               // every block runs before anyone writes to it
  int parity = 0;
  for (; row < rows; row += stride) {
    float gm[3], gs[3];
#pragma unroll
    for (int g = 0; g < 3; ++g) {
      if (g == 0) cp_wait<2>();
      else if (g == 1) cp_wait<1>();
      else cp_wait<0>();
      float4 v[4];
      float m = -INFINITY;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int p = (g * 4 + j) * 1024 + tid;
        v[j] = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        if (p < mine) v[j] = buf[p];
        m = fmaxf(m, fmaxf(fmaxf(v[j].x, v[j].y), fmaxf(v[j].z, v[j].w)));
      }
      const float base = m == -INFINITY ? 0.0f : m;
      float s = 0.0f;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int p = (g * 4 + j) * 1024 + tid;
        if (p < mine) {
          v[j].x = expf(v[j].x - base);
          v[j].y = expf(v[j].y - base);
          v[j].z = expf(v[j].z - base);
          v[j].w = expf(v[j].w - base);
          s += (v[j].x + v[j].y) + (v[j].z + v[j].w);
          buf[p] = v[j];
        }
      }
      gm[g] = m;
      gs[g] = s;
    }
    float m = fmaxf(gm[0], fmaxf(gm[1], gm[2]));
    float s = gs[0] * rescale(gm[0], m) + gs[1] * rescale(gm[1], m) + gs[2] * rescale(gm[2], m);
    float top = m;
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    s *= rescale(m, top);
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (lane == 0) {
      warp_max[warp] = top;
      warp_sum[warp] = s;
    }
    __syncthreads();
    if (warp == 0) {
      const float mine_max = warp_max[lane];
      float t = mine_max, q = warp_sum[lane];
#pragma unroll
      for (int d = 16; d > 0; d >>= 1) t = fmaxf(t, __shfl_xor_sync(0xffffffffu, t, d));
      q *= rescale(mine_max, t);
#pragma unroll
      for (int d = 16; d > 0; d >>= 1) q += __shfl_xor_sync(0xffffffffu, q, d);
      if (lane < 8) {
        float2* to = cluster.map_shared_rank(&part[parity][rank], lane);
        *to = make_float2(t, q);
      }
    }
    cluster.sync();
    float row_max = -INFINITY;
#pragma unroll
    for (int r = 0; r < 8; ++r) row_max = fmaxf(row_max, part[parity][r].x);
    float row_sum = 0.0f;
#pragma unroll
    for (int r = 0; r < 8; ++r) row_sum += part[parity][r].y * rescale(part[parity][r].x, row_max);
    parity ^= 1;
    const bool more = row + stride < rows;
    const float4* next = in4 + (row + stride) * packs;
    float4* to = out4 + row * packs;
#pragma unroll
    for (int g = 0; g < 3; ++g) {
      const float f = rescale(gm[g], row_max) / row_sum;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int p = (g * 4 + j) * 1024 + tid;
        if (p < mine) {
          float4 v = buf[p];
          v.x *= f;
          v.y *= f;
          v.z *= f;
          v.w *= f;
          __stcs(to + p, v);
        }
      }
      if (more) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int p = (g * 4 + j) * 1024 + tid;
          if (p < mine) cp16(buf + p, next + p);
        }
      }
      cp_commit();
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
softmax_rows(const float* __restrict__ x, float* __restrict__ out, long long rows, long long cols) {
  __shared__ float part_max[8];
  __shared__ float part_sum[8];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* in = x + row * cols;
    float* to = out + row * cols;
    float m = -INFINITY;
    for (long long i = threadIdx.x; i < cols; i += 256) m = fmaxf(m, in[i]);
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
    if (lane == 0) part_max[warp] = m;
    __syncthreads();
    m = part_max[0];
#pragma unroll
    for (int w = 1; w < 8; ++w) m = fmaxf(m, part_max[w]);
    float s = 0.0f;
    for (long long i = threadIdx.x; i < cols; i += 256) s += expf(in[i] - m);
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (lane == 0) part_sum[warp] = s;
    __syncthreads();
    s = 0.0f;
#pragma unroll
    for (int w = 0; w < 8; ++w) s += part_sum[w];
    for (long long i = threadIdx.x; i < cols; i += 256) to[i] = expf(in[i] - m) / s;
    __syncthreads();
  }
}
