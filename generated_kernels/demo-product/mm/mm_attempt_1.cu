/*@plan
m, k = self.shape
n = mat2.shape[1]
half = self.dtype == "bf16" or self.dtype == "f16"
define("HALF", half)
define("BF16", self.dtype == "bf16")
tma = half and cc == 90 and min(m, n, k) > 0 and max(m, n, k) < 2147480000

# Which way each factor lies: K-major (its k is contiguous) or MN-major, with its leading dimension.
a_ok = False
ta = 0
lda = align_up(k, 8)
b_ok = False
tb = 1
ldb = align_up(n, 8)
if tma:
    if self.stride[1] == 1 or k == 1:
        lda = self.stride[0] if m > 1 else align_up(k, 8)
        a_ok = lda >= k and lda % 8 == 0
    elif self.stride[0] == 1 or m == 1:
        lda = self.stride[1]
        a_ok = lda >= m and lda % 8 == 0
        ta = 1
    if mat2.stride[1] == 1 or n == 1:
        ldb = mat2.stride[0] if k > 1 else align_up(n, 8)
        b_ok = ldb >= n and ldb % 8 == 0
    elif mat2.stride[0] == 1 or k == 1:
        ldb = mat2.stride[1]
        b_ok = ldb >= k and ldb % 8 == 0
        tb = 0
    if not b_ok and mat2.stride[0] == 1:
        ldb = mat2.stride[1] if n > 1 else align_up(k, 8)
        b_ok = ldb >= k and ldb % 8 == 0
        tb = 0
    a_ok = a_ok and self.align >= 16
    b_ok = b_ok and mat2.align >= 16
    # Unaligned factors are packed first where the product is large enough to pay for it.
    if not (a_ok and b_ok) and m * n * k < 1 << 19:
        tma = False
if not tma:
    ta = 0
    tb = 1
else:
    if not a_ok:
        ta = 0
    if not b_ok:
        tb = 1
define("TA", ta)
define("TB", tb)

if tma:
    a = self
    b = mat2
    if not a_ok:
        lda = align_up(k, 8)
        a = scratch(m * lda * 2)
        launch("mm_pack", grid=cdiv(m, 32) * cdiv(k, 32), block=(32, 8),
               args=[ptr(self, 0), a, m, k, self.stride[0], self.stride[1], lda])
    if not b_ok:
        ldb = align_up(n, 8)
        b = scratch(k * ldb * 2)
        launch("mm_pack", grid=cdiv(k, 32) * cdiv(n, 32), block=(32, 8),
               args=[ptr(mat2, 0), b, k, n, mat2.stride[0], mat2.stride[1], ldb])
    rows = min(m, n)
    t64 = cdiv(m, 128) * cdiv(n, 128)
    steps = cdiv(k, 64)
    if rows <= 64 or (t64 * 4 <= sm_count and k >= 1024):
        # Few tiles: 128 x (16, 32, 64), k split over the blocks of a cluster.
        swap = m < n
        p = max(m, n)
        w = 64
        if rows <= 16:
            w = 16
        elif rows <= 32:
            w = 32
        tiles = cdiv(p, 128) * cdiv(rows, w)
        s = 1
        for i in range(3):
            if tiles * s <= sm_count and s * 2 <= steps:
                s = s * 2
        abox = w if ta == 0 and swap else 64
        bbox = w if tb == 0 and not swap else 64
        am = tensor_map(a, dtype=self.dtype, shape=(k, m) if ta == 1 else (m, k), strides=(lda, 1), box=[abox, 64], swizzle=128, l2=256)
        bm = tensor_map(b, dtype=self.dtype, shape=(k, n) if tb == 1 else (n, k), strides=(ldb, 1), box=[bbox, 64], swizzle=128, l2=256)
        name = "mm_split_64"
        if swap:
            name = "mm_split_swap_16" if w == 16 else ("mm_split_swap_32" if w == 32 else "mm_split_swap_64")
        else:
            name = "mm_split_16" if w == 16 else ("mm_split_32" if w == 32 else "mm_split_64")
        launch(name, grid=(cdiv(p, 128) * s, cdiv(rows, w)), block=160, smem=110592, cluster=(s, 1, 1),
               args=[bm if swap else am, am if swap else bm, out, p, rows, n, k, s])
    else:
        am = tensor_map(a, dtype=self.dtype, shape=(k, m) if ta == 1 else (m, k), strides=(lda, 1), box=[64, 64], swizzle=128, l2=256)
        bm = tensor_map(b, dtype=self.dtype, shape=(k, n) if tb == 1 else (n, k), strides=(ldb, 1), box=[64, 64], swizzle=128, l2=256)
        direct = 0 if n % 8 == 0 else 1
        om = am
        if direct == 0:
            om = tensor_map(out, box=[64, 64], swizzle=128)
        # Time of a shape of tile: waves of cluster pairs, columns, and its own efficiency.
        pairs = sm_count // 2
        t256 = cdiv(m, 256) * cdiv(n, 256)
        t128 = cdiv(m, 256) * cdiv(n, 128)
        c256 = cdiv(t256, pairs) * 256 * 10
        c128 = cdiv(t128, pairs) * 128 * 11
        c64 = cdiv(t64, pairs) * 64 * 13
        group = param("GROUP", [8, 16, 4])
        skew = param("SKEW", [1, 0, 2])
        if c256 <= min(c128, c64):
            launch("mm_256", grid=2 * min(t256, pairs), block=384, smem=229376, cluster=(2, 1, 1),
                   args=[am, bm, om, out, m, n, k, direct])
        elif c128 <= c64:
            launch("mm_128", grid=2 * min(t128, pairs), block=384, smem=229376, cluster=(2, 1, 1),
                   args=[am, bm, om, out, m, n, k, direct])
        else:
            launch("mm_64", grid=2 * min(t64, pairs), block=384, smem=229376, cluster=(2, 1, 1),
                   args=[am, bm, om, out, m, n, k, direct])
else:
    launch("mm_plain", grid=cdiv(n, 64) * cdiv(m, 64), block=256,
           args=[self, mat2, out, m, n, k, self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
@*/
#include <kg/hopper.cuh>

// Any strides and types: 64 x 64 tiles by FMA. Small or unaligned products only.
extern "C" __global__ void __launch_bounds__(256)
mm_plain(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ out,
         long long m, long long n, long long k,
         long long a_row, long long a_col, long long b_row, long long b_col) {
  using acc = kg::acc_t<T_out>;
  __shared__ acc as[16][64 + 2];
  __shared__ acc bs[16][64 + 2];
  const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
  const long long columns = (n + 63) / 64;
  const long long row0 = blockIdx.x / columns * 64, col0 = blockIdx.x % columns * 64;
  acc sum[4][4] = {};
  for (long long k0 = 0; k0 < k; k0 += 16) {
    for (int i = tid; i < 64 * 16; i += 256) {
      const int ak = a_row == 1 ? i / 64 : i % 16, ar = a_row == 1 ? i % 64 : i / 16;
      const int bk = b_row == 1 ? i % 16 : i / 64, bc = b_row == 1 ? i / 16 : i % 64;
      as[ak][ar] = row0 + ar < m && k0 + ak < k ? kg::to_acc(a[(row0 + ar) * a_row + (k0 + ak) * a_col]) : acc(0);
      bs[bk][bc] = k0 + bk < k && col0 + bc < n ? kg::to_acc(b[(k0 + bk) * b_row + (col0 + bc) * b_col]) : acc(0);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      acc x[4], y[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        x[i] = as[kk][ty + i * 16];
        y[i] = bs[kk][tx + i * 16];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long r = row0 + ty + i * 16, c = col0 + tx + j * 16;
      if (r < m && c < n) out[r * n + c] = kg::from_acc<T_out>(sum[i][j]);
    }
}

#if HALF
// A factor of any strides, as rows of `ld` elements.
extern "C" __global__ void __launch_bounds__(256)
mm_pack(const unsigned short* __restrict__ from, unsigned short* __restrict__ to, long long rows, long long columns,
        long long row_stride, long long column_stride, long long ld) {
  __shared__ unsigned short tile[32][34];
  const long long across = (columns + 31) / 32;
  const long long r0 = blockIdx.x / across * 32, c0 = blockIdx.x % across * 32;
  const int x = threadIdx.x, y = threadIdx.y;
  if (row_stride == 1) {                        // read along rows' index, turn in shared memory
    for (int j = y; j < 32; j += 8)
      if (c0 + j < columns && r0 + x < rows) tile[x][j] = from[r0 + x + (c0 + j) * column_stride];
    __syncthreads();
    for (int j = y; j < 32; j += 8)
      if (r0 + j < rows && c0 + x < columns) to[(r0 + j) * ld + c0 + x] = tile[j][x];
  } else {
    for (int j = y; j < 32; j += 8)
      if (r0 + j < rows && c0 + x < columns)
        to[(r0 + j) * ld + c0 + x] = from[(r0 + j) * row_stride + (c0 + x) * column_stride];
  }
}
#endif

#if HALF && defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr kg::mma TYPE = BF16 ? kg::mma::bf16 : kg::mma::f16;
constexpr int BOX = 64 * 64 * 2;                // all boxes: 64 rows of 128 bytes, 128-byte swizzled

#if !defined(GROUP)
#define GROUP 8
#endif
#if !defined(SKEW)
#define SKEW 1
#endif

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
__device__ __forceinline__ void named_barrier(int id) {   // of one warpgroup
  asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory");
}
__device__ __forceinline__ uint32_t peer_address(uint32_t address, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
  return r;
}
__device__ __forceinline__ void arrive_at(uint64_t* bar, uint32_t rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   peer_address(shared_address(bar), rank)) : "memory");
}
__device__ __forceinline__ void load_both(void* to, const CUtensorMap* map, uint64_t* bar, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)), "l"(map), "r"(c0), "r"(c1),
      "r"(shared_address(bar)), "h"(static_cast<unsigned short>(3)) : "memory");
}
struct alignas(4) Two { T_out x, y; };
__device__ __forceinline__ uint32_t pack2(float x, float y) {
  union { Two two; uint32_t bits; } u;
  u.two = {kg::from_float<T_out>(x), kg::from_float<T_out>(y)};
  return u.bits;
}
__device__ __forceinline__ void store_matrices(uint32_t to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z),
               "r"(w) : "memory");
}
template <bool MN>                              // descriptor of boxes of 64, MN-major or K-major
__device__ __forceinline__ uint64_t boxes(const void* p) {
  if constexpr (MN) return kg::wgmma_descriptor<128>(p, BOX, 1024);
  else return kg::wgmma_descriptor<128>(p);
}

// Pairs of blocks that share a factor by multicast; persistent; one loading thread, two multiplying warpgroups of
// 64 x BN; the output goes by TMA stores that the next tile's products overlap.
template <int BN, int STAGES, bool SHARE_A>
__device__ __forceinline__ void multiply(const CUtensorMap& map_a, const CUtensorMap& map_b, const CUtensorMap& map_out,
                                         T_out* __restrict__ out, int m, int n, int k, int direct) {
  constexpr int STAGE = (2 + BN / 64) * BOX;
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ uint64_t full[STAGES], empty[STAGES], lead;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      kg::mbarrier_init(&full[s], 1);
      kg::mbarrier_init(&empty[s], 4);          // two warpgroups of two blocks
    }
    kg::mbarrier_init(&lead, 1);
    kg::fence_mbarrier_init();
  }
  cluster_barrier();
  const int steps = (k + 63) / 64;
  const int tiles_m = SHARE_A ? (m + 127) / 128 : (m + 255) / 256;
  const int tiles_n = SHARE_A ? (n + 2 * BN - 1) / (2 * BN) : (n + BN - 1) / BN;
  const int tiles = tiles_m * tiles_n, pairs = gridDim.x / 2;
  int s = 0;
  uint32_t phase = 0;
  if (threadIdx.x < 128) {
    kg::registers_dec<40>();
    if (threadIdx.x == 0) {
      for (int tile = blockIdx.x / 2; tile < tiles; tile += pairs) {
        const int first = tile / (GROUP * tiles_n) * GROUP, in = tile % (GROUP * tiles_n);
        const int height = min(GROUP, tiles_m - first);
        const int tm = first + in % height, tn = in / height;
        const int row0 = (SHARE_A ? tm : tm * 2 + rank) * 128, col0 = (SHARE_A ? tn * 2 + rank : tn) * BN;
        for (int step = 0; step < steps; ++step) {
          unsigned char* stage = dynamic + s * STAGE;
          const int k0 = step * 64;
          kg::mbarrier_wait(&empty[s], phase ^ 1);
          kg::mbarrier_arrive_expect_tx(&full[s], STAGE);
          if constexpr (SHARE_A) {
            const int r = row0 + rank * 64;
            load_both(stage + rank * BOX, &map_a, &full[s], TA ? r : k0, TA ? k0 : r);
#pragma unroll
            for (int j = 0; j < BN / 64; ++j) {
              const int c = col0 + j * 64;
              kg::tma_load(stage + (2 + j) * BOX, &map_b, &full[s], TB ? c : k0, TB ? k0 : c);
            }
          } else {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
              const int r = row0 + j * 64;
              kg::tma_load(stage + j * BOX, &map_a, &full[s], TA ? r : k0, TA ? k0 : r);
            }
#pragma unroll
            for (int i = 0; i < BN / 128; ++i) {
              const int j = rank * (BN / 128) + i, c = col0 + j * 64;
              load_both(stage + (2 + j) * BOX, &map_b, &full[s], TB ? c : k0, TB ? k0 : c);
            }
          }
          if (++s == STAGES) { s = 0; phase ^= 1; }
        }
      }
    }
    __syncwarp();
  } else {
    kg::registers_inc<232>();
    const int group = threadIdx.x / 128 - 1, t = threadIdx.x % 128, warp = t / 32, lane = t % 32;
    unsigned char* staging = dynamic + STAGES * STAGE + group * 2 * BOX;
    const uint64_t base_a = boxes<TA>(dynamic + group * BOX), base_b = boxes<TB>(dynamic + 2 * BOX);
    int half = 0;                               // which of the two staging buffers is next
    const bool skewed = SKEW > 0 && steps > SKEW;
    bool begun = !skewed;
    // The second group runs SKEW steps behind the first: the tail of one tile and the stores of the other overlap.
    if (skewed && group == 1) kg::mbarrier_wait(&lead, 0);
    for (int tile = blockIdx.x / 2; tile < tiles; tile += pairs) {
      const int first = tile / (GROUP * tiles_n) * GROUP, in = tile % (GROUP * tiles_n);
      const int height = min(GROUP, tiles_m - first);
      const int tm = first + in % height, tn = in / height;
      const int row0 = (SHARE_A ? tm : tm * 2 + rank) * 128 + group * 64, col0 = (SHARE_A ? tn * 2 + rank : tn) * BN;
      float sum[BN / 2];
      int before = 0;
      for (int step = 0; step < steps; ++step) {
        kg::mbarrier_wait(&full[s], phase);
        const uint64_t a = kg::wgmma_advance(base_a, s * STAGE), b = kg::wgmma_advance(base_b, s * STAGE);
        kg::wgmma_fence();
#pragma unroll
        for (int l = 0; l < 64; l += 16)
          kg::wgmma<TYPE, BN, TA, TB>(sum, kg::wgmma_advance(a, TA ? l * 128 : l * 2),
                                      kg::wgmma_advance(b, TB ? l * 128 : l * 2), step + l > 0);
        kg::wgmma_commit();
        kg::wgmma_wait<1>();
        if (step > 0 && t < 2) arrive_at(&empty[before], t);
        if (!begun && step == SKEW) {
          begun = true;
          if (group == 0 && t == 0) arrive_at(&lead, rank);
        }
        before = s;
        if (++s == STAGES) { s = 0; phase ^= 1; }
      }
      kg::wgmma_wait<0>();
      kg::wgmma_hold(sum);
      if (t < 2) arrive_at(&empty[before], t);
      if (direct) {                             // rows that TMA cannot store
        const int r0 = row0 + warp * 16 + lane / 4, c0 = col0 + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) {
          const int r = r0 + i / 2 % 2 * 8, c = c0 + i / 4 * 8 + i % 2;
          if (r < m && c < n) out[static_cast<long long>(r) * n + c] = kg::from_float<T_out>(sum[i]);
        }
      } else {
        const int r = warp * 16 + lane % 16;    // lanes 0..7 and 8..15: rows of a pair of matrices; 16..31: next columns
#pragma unroll
        for (int c = 0; c < BN / 64; ++c) {
          unsigned char* buffer = staging + half * BOX;
          half ^= 1;
          if (t == 0) kg::bulk_wait_read<1>();  // the store before the last has read this buffer
          named_barrier(group + 1);
          const uint32_t to = shared_address(buffer) + r * 128;
#pragma unroll
          for (int u = 0; u < 8; u += 2) {
            const float* f = &sum[c * 32 + u * 4];
            store_matrices(to + (((u + lane / 16) ^ (r & 7)) << 4), pack2(f[0], f[1]), pack2(f[2], f[3]),
                           pack2(f[4], f[5]), pack2(f[6], f[7]));
          }
          kg::fence_async_shared();
          named_barrier(group + 1);
          if (t == 0) {
            if (row0 < m && col0 + c * 64 < n) kg::tma_store(&map_out, buffer, col0 + c * 64, row0);
            kg::bulk_commit();
          }
        }
      }
    }
    if (t == 0) kg::bulk_wait_read<0>();
    __syncwarp();
  }
  cluster_barrier();                            // no block leaves while its pair still writes or signals here
}

extern "C" __global__ void __launch_bounds__(384, 1)
mm_256(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
       const __grid_constant__ CUtensorMap map_out, T_out* __restrict__ out, int m, int n, int k, int direct) {
  multiply<256, 4, false>(map_a, map_b, map_out, out, m, n, k, direct);
}
extern "C" __global__ void __launch_bounds__(384, 1)
mm_128(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
       const __grid_constant__ CUtensorMap map_out, T_out* __restrict__ out, int m, int n, int k, int direct) {
  multiply<128, 6, false>(map_a, map_b, map_out, out, m, n, k, direct);
}
extern "C" __global__ void __launch_bounds__(384, 1)
mm_64(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
      const __grid_constant__ CUtensorMap map_out, T_out* __restrict__ out, int m, int n, int k, int direct) {
  multiply<64, 8, true>(map_a, map_b, map_out, out, m, n, k, direct);
}

// 128 of the long side by W of the short one; the blocks of a cluster take parts of k and add up in a fixed order.
// P is the long factor [p, k], Q the short one [q, k]; SWAP: P is mat2, so the tile is the output's transpose.
template <int W, bool SWAP>
__device__ __forceinline__ void split(const CUtensorMap& map_p, const CUtensorMap& map_q, T_out* __restrict__ out,
                                      int p, int q, int n, int k, int parts) {
  constexpr bool PT = SWAP ? TB : TA, QT = SWAP ? TA : TB;
  constexpr int Q_BYTES = QT ? BOX : W * 128, STAGE = 2 * BOX + Q_BYTES, STAGES = 110592 / STAGE;
  extern __shared__ __align__(1024) unsigned char dynamic[];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  const int rank = cluster_rank(), tid = threadIdx.x;
  const int p0 = blockIdx.x / parts * 128, q0 = blockIdx.y * W;
  const int steps = (k + 63) / 64;
  const int begin = static_cast<int>(static_cast<long long>(steps) * rank / parts);
  const int end = static_cast<int>(static_cast<long long>(steps) * (rank + 1) / parts);
  if (tid == 0) {
    for (int s = 0; s < STAGES; ++s) {
      kg::mbarrier_init(&full[s], 1);
      kg::mbarrier_init(&empty[s], 1);
    }
    kg::fence_mbarrier_init();
  }
  __syncthreads();
  float* part = reinterpret_cast<float*>(dynamic);   // the ring's memory, once it is used up
  constexpr int PITCH = SWAP ? 132 : W + 4;
  int s = 0;
  uint32_t phase = 0;
  if (tid >= 128) {
    if (tid == 128) {
      for (int step = begin; step < end; ++step) {
        unsigned char* stage = dynamic + s * STAGE;
        const int k0 = step * 64;
        kg::mbarrier_wait(&empty[s], phase ^ 1);
        kg::mbarrier_arrive_expect_tx(&full[s], STAGE);
        kg::tma_load(stage, &map_p, &full[s], PT ? p0 : k0, PT ? k0 : p0);
        kg::tma_load(stage + BOX, &map_p, &full[s], PT ? p0 + 64 : k0, PT ? k0 : p0 + 64);
        kg::tma_load(stage + 2 * BOX, &map_q, &full[s], QT ? q0 : k0, QT ? k0 : q0);
        if (++s == STAGES) { s = 0; phase ^= 1; }
      }
    }
    __syncwarp();
  } else {
    float low[W / 2], high[W / 2];
    for (int step = begin; step < end; ++step) {
      unsigned char* stage = dynamic + s * STAGE;
      kg::mbarrier_wait(&full[s], phase);
      const uint64_t x = boxes<PT>(stage), y = boxes<PT>(stage + BOX), z = boxes<QT>(stage + 2 * BOX);
      kg::wgmma_fence();
#pragma unroll
      for (int l = 0; l < 64; l += 16) {
        const uint64_t zl = kg::wgmma_advance(z, QT ? l * 128 : l * 2);
        kg::wgmma<TYPE, W, PT, QT>(low, kg::wgmma_advance(x, PT ? l * 128 : l * 2), zl, step > begin || l > 0);
        kg::wgmma<TYPE, W, PT, QT>(high, kg::wgmma_advance(y, PT ? l * 128 : l * 2), zl, step > begin || l > 0);
      }
      kg::wgmma_commit();
      kg::wgmma_wait<0>();
      if (tid == 0) kg::mbarrier_arrive(&empty[s]);
      if (++s == STAGES) { s = 0; phase ^= 1; }
    }
    kg::wgmma_hold(low);
    kg::wgmma_hold(high);
    named_barrier(1);
    const int r0 = tid / 32 * 16 + tid % 32 / 4, c0 = tid % 4 * 2;
#pragma unroll
    for (int i = 0; i < W / 2; ++i) {
      const int r = r0 + i / 2 % 2 * 8, c = c0 + i / 4 * 8 + i % 2;
      part[SWAP ? c * PITCH + r : r * PITCH + c] = low[i];
      part[SWAP ? c * PITCH + r + 64 : (r + 64) * PITCH + c] = high[i];
    }
  }
  cluster_barrier();
  const int slice = 128 * W / parts;
  for (int i = rank * slice + tid; i < (rank + 1) * slice; i += 160) {
    const int r = SWAP ? i % 128 : i / W, c = SWAP ? i / 128 : i % W;
    const uint32_t at = shared_address(part) + (SWAP ? c * PITCH + r : r * PITCH + c) * 4;
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      v[j] = 0.0f;
      if (j < parts) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v[j]) : "r"(peer_address(at, j)) : "memory");
    }
    float sum = v[0];
#pragma unroll
    for (int j = 1; j < 8; ++j)
      if (j < parts) sum += v[j];
    const long long pr = p0 + r, qc = q0 + c;
    if (pr < p && qc < q) out[SWAP ? qc * n + pr : pr * n + qc] = kg::from_float<T_out>(sum);
  }
  cluster_barrier();                            // the others may still read this block's part
}

#define SPLIT(NAME, W, SWAP)                                                                             \
  extern "C" __global__ void __launch_bounds__(160, 2)                                                   \
  NAME(const __grid_constant__ CUtensorMap map_p, const __grid_constant__ CUtensorMap map_q,             \
       T_out* __restrict__ out, int p, int q, int n, int k, int parts) {                                 \
    split<W, SWAP>(map_p, map_q, out, p, q, n, k, parts);                                                \
  }
SPLIT(mm_split_16, 16, false)
SPLIT(mm_split_32, 32, false)
SPLIT(mm_split_64, 64, false)
SPLIT(mm_split_swap_16, 16, true)
SPLIT(mm_split_swap_32, 32, true)
SPLIT(mm_split_swap_64, 64, true)
#endif
