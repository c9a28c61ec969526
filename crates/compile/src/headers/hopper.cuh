// Helpers for sm_90a: mbarriers, TMA, clusters, wgmma. Opt-in: `#include <kg/hopper.cuh>`.
//
// Pointers named `smem` and `bar` point into shared memory. Coordinates of tensor maps are innermost first.
// A thread that writes shared memory calls `fence_async_shared()` before TMA or wgmma reads it.
#pragma once
#define KG_FN static __device__ __forceinline__

namespace kg {

// ---- Addresses and threads -----------------------------------------------------------------------

// The address of shared memory that PTX takes.
KG_FN uint32_t smem_address(const void* smem) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(smem));
}
// True for one thread of a warp, all of whose threads call it.
KG_FN bool elect_one() {
  uint32_t elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
  return elected != 0;
}
// A barrier of `threads` threads, a multiple of 32; `id` 0 is that of __syncthreads.
KG_FN void barrier_sync(int id, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// Takes or gives registers, for all warps of a warpgroup: N is a multiple of 8 from 24 to 256.
template <int N> KG_FN void registers_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> KG_FN void registers_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

// ---- mbarriers -----------------------------------------------------------------------------------

// One thread initialises a barrier, then `fence_mbarrier_init()`, then all threads synchronise.
KG_FN void mbarrier_init(uint64_t* bar, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_address(bar)), "r"(arrivals) : "memory");
}
KG_FN void mbarrier_inval(uint64_t* bar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(smem_address(bar)) : "memory");
}
KG_FN void mbarrier_arrive(uint64_t* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem_address(bar)) : "memory");
}
// Arrives at the barrier at the same place in another block of the cluster: that block may overwrite what this thread
// has read. After writes to the other block's memory call `fence_cluster()` first; `.release.cluster` on each arrival
// would be a fence of the whole GPU.
KG_FN void mbarrier_arrive(uint64_t* bar, uint32_t rank) {
  asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;"
               "mbarrier.arrive.shared::cluster.b64 _, [remote]; }"
               ::"r"(smem_address(bar)), "r"(rank) : "memory");
}
// Arrives, and announces bytes that copies will bring.
KG_FN void mbarrier_arrive_expect_tx(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               ::"r"(smem_address(bar)), "r"(bytes) : "memory");
}
KG_FN void mbarrier_expect_tx(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               ::"r"(smem_address(bar)), "r"(bytes) : "memory");
}
// Whether the phase of that parity is complete; may wait a while. The first phase has parity 0.
KG_FN bool mbarrier_try_wait(uint64_t* bar, uint32_t parity) {
  uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
               "selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(smem_address(bar)), "r"(parity) : "memory");
  return done != 0;
}
KG_FN void mbarrier_wait(uint64_t* bar, uint32_t parity) {
  while (!mbarrier_try_wait(bar, parity)) {}
}
// As `mbarrier_wait`, where threads of other blocks of the cluster arrive.
KG_FN void mbarrier_wait_cluster(uint64_t* bar, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(smem_address(bar)), "r"(parity) : "memory");
  }
}

// ---- Fences --------------------------------------------------------------------------------------

// Makes initialised mbarriers known to TMA and to the cluster.
KG_FN void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Orders plain accesses before those of TMA and wgmma: of shared memory, and of all memory.
KG_FN void fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
KG_FN void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
// Orders this thread's accesses before those that follow, as all blocks of the cluster see them.
KG_FN void fence_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }

// ---- Clusters ------------------------------------------------------------------------------------

KG_FN void cluster_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
KG_FN void cluster_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
KG_FN void cluster_sync() { cluster_arrive(); cluster_wait(); }
// This block's place among the blocks of its cluster, and their number.
KG_FN uint32_t cluster_rank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
KG_FN uint32_t cluster_size() {
  uint32_t size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
// The same place in the shared memory of another block, for plain loads and stores.
template <class _KgT> KG_FN _KgT* cluster_peer(_KgT* smem, uint32_t rank) {
  uint64_t address;
  asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(reinterpret_cast<uint64_t>(smem)), "r"(rank));
  return reinterpret_cast<_KgT*>(address);
}
// The same as an address of shared::cluster.
KG_FN uint32_t cluster_peer_address(const void* smem, uint32_t rank) {
  uint32_t address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(smem_address(smem)), "r"(rank));
  return address;
}

// ---- Bulk copies ---------------------------------------------------------------------------------

// Copies `bytes`, addresses multiples of 16 as well; the barrier expects them.
KG_FN void bulk_load(void* smem, const void* global, uint32_t bytes, uint64_t* bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(smem_address(smem)), "l"(__cvta_generic_to_global(global)), "r"(bytes),
               "r"(smem_address(bar)) : "memory");
}
// The same into each block of the cluster whose bit is set in `blocks`, and its barrier.
KG_FN void bulk_load_multicast(void* smem, const void* global, uint32_t bytes, uint64_t* bar, uint16_t blocks) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
               " [%0], [%1], %2, [%3], %4;"
               ::"r"(smem_address(smem)), "l"(__cvta_generic_to_global(global)), "r"(bytes),
               "r"(smem_address(bar)), "h"(blocks) : "memory");
}
// Copies into another block of the cluster, to the same places as `to` and `bar` here.
KG_FN void bulk_to_peer(void* to, const void* smem, uint32_t bytes, uint64_t* bar, uint32_t rank) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(cluster_peer_address(to, rank)), "r"(smem_address(smem)), "r"(bytes),
               "r"(cluster_peer_address(bar, rank)) : "memory");
}
KG_FN void bulk_store(void* global, const void* smem, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               ::"l"(__cvta_generic_to_global(global)), "r"(smem_address(smem)), "r"(bytes) : "memory");
}
// Closes a group of this thread's stores; waits until at most N groups are under way, or until at most N
// still read shared memory.
KG_FN void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> KG_FN void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
template <int N> KG_FN void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// ---- TMA -----------------------------------------------------------------------------------------

// `map` is the address of a parameter `const __grid_constant__ CUtensorMap`. Shared memory of a box is
// aligned to 128 bytes, to 1024 with a swizzle of 128.
KG_FN void tma_prefetch(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<uint64_t>(map)) : "memory");
}

#define KG_TX ".shared::cluster.global" KG_MODE ".mbarrier::complete_tx::bytes"
#define KG_MODE
#define KG_ARGS "r"(smem_address(smem)), "l"(reinterpret_cast<uint64_t>(map)), "r"(smem_address(bar))
// Loads of a box, into this block or into those of the cluster whose bits are set, and its store. The innermost
// coordinate is a multiple of 16 bytes. A store writes the 16 bytes whole in which a row of the tensor ends.
#define KG_TMA(DIM, PARAMS, NUMBERS, MASK, ...)                                                        \
  KG_FN void tma_load(void* smem, const CUtensorMap* map, uint64_t* bar, PARAMS) {                     \
    asm volatile("cp.async.bulk.tensor." DIM KG_TX " [%0], [%1, {" NUMBERS "}], [%2];"                 \
                 ::KG_ARGS, __VA_ARGS__ : "memory");                                                   \
  }                                                                                                    \
  KG_FN void tma_load_multicast(void* smem, const CUtensorMap* map, uint64_t* bar, uint16_t blocks,    \
                                PARAMS) {                                                              \
    asm volatile("cp.async.bulk.tensor." DIM KG_TX ".multicast::cluster"                               \
                 " [%0], [%1, {" NUMBERS "}], [%2], " MASK ";"                                         \
                 ::KG_ARGS, __VA_ARGS__, "h"(blocks) : "memory");                                      \
  }                                                                                                    \
  KG_FN void tma_store(const CUtensorMap* map, const void* smem, PARAMS) {                             \
    asm volatile("cp.async.bulk.tensor." DIM ".global.shared::cta.bulk_group [%1, {" NUMBERS "}], [%0];" \
                 ::"r"(smem_address(smem)), "l"(reinterpret_cast<uint64_t>(map)), "n"(0), __VA_ARGS__  \
                 : "memory");                                                                          \
  }
#define KG_P1 int c0
#define KG_P2 KG_P1, int c1
#define KG_P3 KG_P2, int c2
#define KG_P4 KG_P3, int c3
#define KG_P5 KG_P4, int c4
#define KG_C3 "r"(c0), "r"(c1), "r"(c2)
KG_TMA("1d", KG_P1, "%3", "%4", "r"(c0))
KG_TMA("2d", KG_P2, "%3, %4", "%5", "r"(c0), "r"(c1))
KG_TMA("3d", KG_P3, "%3, %4, %5", "%6", KG_C3)
KG_TMA("4d", KG_P4, "%3, %4, %5, %6", "%7", KG_C3, "r"(c3))
KG_TMA("5d", KG_P5, "%3, %4, %5, %6, %7", "%8", KG_C3, "r"(c3), "r"(c4))
#undef KG_MODE
#define KG_MODE ".im2col"
// Loads of im2col maps: coordinates of the first pixel's window, offsets within the window, innermost first.
#define KG_IM2COL(DIM, PARAMS, OFFSETS, NUMBERS, MASK, ...)                                            \
  KG_FN void tma_load_im2col(void* smem, const CUtensorMap* map, uint64_t* bar, PARAMS, OFFSETS) {     \
    asm volatile("cp.async.bulk.tensor." DIM KG_TX " [%0], [%1, {" NUMBERS "};"                        \
                 ::KG_ARGS, __VA_ARGS__ : "memory");                                                   \
  }                                                                                                    \
  KG_FN void tma_load_im2col_multicast(void* smem, const CUtensorMap* map, uint64_t* bar,              \
                                       uint16_t blocks, PARAMS, OFFSETS) {                             \
    asm volatile("cp.async.bulk.tensor." DIM KG_TX ".multicast::cluster [%0], [%1, {" NUMBERS "}, " MASK ";" \
                 ::KG_ARGS, __VA_ARGS__, "h"(blocks) : "memory");                                      \
  }
#define KG_O1 uint16_t o0
#define KG_O2 KG_O1, uint16_t o1
#define KG_O3 KG_O2, uint16_t o2
KG_IM2COL("3d", KG_P3, KG_O1, "%3, %4, %5}], [%2], {%6", "%7", KG_C3, "h"(o0))
KG_IM2COL("4d", KG_P4, KG_O2, "%3, %4, %5, %6}], [%2], {%7, %8", "%9", KG_C3, "r"(c3), "h"(o0), "h"(o1))
KG_IM2COL("5d", KG_P5, KG_O3, "%3, %4, %5, %6, %7}], [%2], {%8, %9, %10", "%11", KG_C3, "r"(c3), "r"(c4),
          "h"(o0), "h"(o1), "h"(o2))

// ---- Dependent launches --------------------------------------------------------------------------

// Of a launch with `pdl=True`: waits for the launch before it, whose results are not there earlier.
KG_FN void dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// Lets the next launch begin, once all blocks have called it or ended.
KG_FN void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// ---- Matrices ------------------------------------------------------------------------------------

// Loads N 8x8 matrices of 16-bit elements; thread i of a warp gives the address of row i.
template <bool TRANSPOSED = false> KG_FN void ldmatrix(uint32_t (&r)[1], const void* smem) {
  if (TRANSPOSED) asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                               : "=r"(r[0]) : "r"(smem_address(smem)) : "memory");
  else asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                    : "=r"(r[0]) : "r"(smem_address(smem)) : "memory");
}
template <bool TRANSPOSED = false> KG_FN void ldmatrix(uint32_t (&r)[2], const void* smem) {
  if (TRANSPOSED) asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                               : "=r"(r[0]), "=r"(r[1]) : "r"(smem_address(smem)) : "memory");
  else asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                    : "=r"(r[0]), "=r"(r[1]) : "r"(smem_address(smem)) : "memory");
}
template <bool TRANSPOSED = false> KG_FN void ldmatrix(uint32_t (&r)[4], const void* smem) {
  if (TRANSPOSED) asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                               : "r"(smem_address(smem)) : "memory");
  else asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                    : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                    : "r"(smem_address(smem)) : "memory");
}
// Stores them.
template <bool TRANSPOSED = false> KG_FN void stmatrix(void* smem, const uint32_t (&r)[1]) {
  if (TRANSPOSED) asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
                               ::"r"(smem_address(smem)), "r"(r[0]) : "memory");
  else asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
                    ::"r"(smem_address(smem)), "r"(r[0]) : "memory");
}
template <bool TRANSPOSED = false> KG_FN void stmatrix(void* smem, const uint32_t (&r)[2]) {
  if (TRANSPOSED) asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                               ::"r"(smem_address(smem)), "r"(r[0]), "r"(r[1]) : "memory");
  else asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                    ::"r"(smem_address(smem)), "r"(r[0]), "r"(r[1]) : "memory");
}
template <bool TRANSPOSED = false> KG_FN void stmatrix(void* smem, const uint32_t (&r)[4]) {
  if (TRANSPOSED) asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                               ::"r"(smem_address(smem)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                               : "memory");
  else asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                    ::"r"(smem_address(smem)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

// ---- wgmma ---------------------------------------------------------------------------------------

// Describes a matrix in shared memory. SWIZZLE is that of the tensor map that loaded it: 0, 32, 64 or 128.
// With a swizzle, K-major (a row of the tile has SWIZZLE bytes along K): `stride` is the bytes from 8 rows
// to the next 8, 8 * SWIZZLE without gaps; `leading` has no meaning. With a swizzle, MN-major (a row of the
// tile has SWIZZLE bytes along M or N): `stride` is the bytes from 8 rows, that is 8 steps of K, to the next
// 8, `leading` those from SWIZZLE bytes along M or N to the next. Without one, K-major, the matrix consists
// of pieces of 8 rows of 16 bytes: `leading` is the bytes from one to the next along K, `stride` along M or N.
template <int SWIZZLE>
KG_FN uint64_t wgmma_descriptor(const void* smem, uint32_t leading, uint32_t stride) {
  static_assert(SWIZZLE == 0 || SWIZZLE == 32 || SWIZZLE == 64 || SWIZZLE == 128, "no such swizzle");
  constexpr uint64_t layout = SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : SWIZZLE == 32 ? 3 : 0;
  const auto field = [](uint32_t bytes) { return static_cast<uint64_t>((bytes & 0x3ffff) >> 4); };
  return layout << 62 | field(stride) << 32 | field(leading) << 16 | field(smem_address(smem));
}
// A K-major tile whose rows have SWIZZLE bytes and no gaps.
template <int SWIZZLE> KG_FN uint64_t wgmma_descriptor(const void* smem) {
  static_assert(SWIZZLE != 0, "without a swizzle give both distances");
  return wgmma_descriptor<SWIZZLE>(smem, 16, 8 * SWIZZLE);
}
// The same matrix so many bytes further, a multiple of 16.
KG_FN uint64_t wgmma_advance(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

// Before the first wgmma, and after other code changed its registers or the shared memory's proxy.
KG_FN void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
KG_FN void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most N groups are under way.
template <int N> KG_FN void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// Keeps the compiler from moving uses of the sums across a wait.
template <int N> KG_FN void wgmma_hold(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Types of factors; sums are f32. A step of K has 32 bytes.
enum class mma { bf16, f16, e4m3, tf32 };

template <int N> struct wgmma_n;
#define KG_D4(I) "+f"(d[I]), "+f"(d[I + 1]), "+f"(d[I + 2]), "+f"(d[I + 3])
#define KG_D8(I) KG_D4(I), KG_D4(I + 4)
#define KG_D16(I) KG_D8(I), KG_D8(I + 8)
#define KG_D32(I) KG_D16(I), KG_D16(I + 16)
#define KG_D64(I) KG_D32(I), KG_D32(I + 32)
#define KG_COMMA ,
#define KG_R4 "%0,%1,%2,%3"
#define KG_R8 KG_R4 ",%4,%5,%6,%7"
#define KG_R16 KG_R8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define KG_R32 KG_R16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define KG_R48 KG_R32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define KG_R64 KG_R48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define KG_R96 KG_R64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79" \
  ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define KG_R128 KG_R96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111" \
  ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define KG_OP(SHAPE, P) "{ .reg .pred p; setp.ne.b32 p, " P ", 0; wgmma.mma_async.sync.aligned." SHAPE " {"
// P0 to P6: the numbers of the operands behind the sums.
#define KG_WGMMA(N, R, D, P0, P1, P2, P3, P4, P5, P6)                                                    \
  template <> struct wgmma_n<N> {                                                                       \
    template <mma T, int TA, int TB>                                                                    \
    static __device__ __forceinline__ void run(float (&d)[N / 2], uint64_t a, uint64_t b, int add) {    \
      if constexpr (T == mma::bf16)                                                                     \
        asm volatile(KG_OP("m64n" #N "k16.f32.bf16.bf16", P2) R "}, " P0 ", " P1 ", p, 1, 1, " P3 ", " P4 "; }" \
                     : D : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB));                                 \
      else if constexpr (T == mma::f16)                                                                 \
        asm volatile(KG_OP("m64n" #N "k16.f32.f16.f16", P2) R "}, " P0 ", " P1 ", p, 1, 1, " P3 ", " P4 "; }" \
                     : D : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB));                                 \
      else if constexpr (T == mma::e4m3)                                                                \
        asm volatile(KG_OP("m64n" #N "k32.f32.e4m3.e4m3", P2) R "}, " P0 ", " P1 ", p, 1, 1; }"         \
                     : D : "l"(a), "l"(b), "r"(add));                                                   \
      else                                                                                              \
        asm volatile(KG_OP("m64n" #N "k8.f32.tf32.tf32", P2) R "}, " P0 ", " P1 ", p, 1, 1; }"          \
                     : D : "l"(a), "l"(b), "r"(add));                                                   \
    }                                                                                                   \
    template <mma T, int TB>                                                                            \
    static __device__ __forceinline__ void run(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b,   \
                                               int add) {                                               \
      if constexpr (T == mma::bf16)                                                                     \
        asm volatile(KG_OP("m64n" #N "k16.f32.bf16.bf16", P5) R "}, {" P0 "," P1 "," P2 "," P3 "}, " P4 \
                     ", p, 1, 1, " P6 "; }"                                                             \
                     : D : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TB));      \
      else                                                                                              \
        asm volatile(KG_OP("m64n" #N "k16.f32.f16.f16", P5) R "}, {" P0 "," P1 "," P2 "," P3 "}, " P4   \
                     ", p, 1, 1, " P6 "; }"                                                             \
                     : D : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TB));      \
    }                                                                                                   \
  };
KG_WGMMA(8, KG_R4, KG_D4(0), "%4", "%5", "%6", "%7", "%8", "%9", "%10")
KG_WGMMA(16, KG_R8, KG_D8(0), "%8", "%9", "%10", "%11", "%12", "%13", "%14")
KG_WGMMA(32, KG_R16, KG_D16(0), "%16", "%17", "%18", "%19", "%20", "%21", "%22")
KG_WGMMA(64, KG_R32, KG_D32(0), "%32", "%33", "%34", "%35", "%36", "%37", "%38")
KG_WGMMA(96, KG_R48, KG_D32(0) KG_COMMA KG_D16(32), "%48", "%49", "%50", "%51", "%52", "%53", "%54")
KG_WGMMA(128, KG_R64, KG_D64(0), "%64", "%65", "%66", "%67", "%68", "%69", "%70")
KG_WGMMA(192, KG_R96, KG_D64(0) KG_COMMA KG_D32(64), "%96", "%97", "%98", "%99", "%100", "%101", "%102")
KG_WGMMA(256, KG_R128, KG_D64(0) KG_COMMA KG_D64(64), "%128", "%129", "%130", "%131", "%132", "%133", "%134")

// One step of K of a 64 x N product by a warpgroup: d = a * b, `+ d` with `add`. N is 8, 16, 32, 64, 96, 128,
// 192 or 256. TA, TB: 1 where a factor is MN-major, of 16-bit types only. Thread t holds, for i < N / 2, the
// sum of row t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8 and column i / 4 * 8 + t % 4 * 2 + i % 2.
template <mma T, int N, int TA = 0, int TB = 0>
KG_FN void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, bool add = true) {
  static_assert(T == mma::bf16 || T == mma::f16 || (TA == 0 && TB == 0), "such factors are K-major");
  wgmma_n<N>::template run<T, TA, TB>(d, a, b, add);
}
// With the first factor in registers: of a 16-bit type, as `ldmatrix` x4 loads the 16 x 16 of each warp.
template <mma T, int N, int TB = 0>
KG_FN void wgmma(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b, bool add = true) {
  static_assert(T == mma::bf16 || T == mma::f16, "a factor in registers has a 16-bit type");
  wgmma_n<N>::template run<T, TB>(d, a, b, add);
}

} // namespace kg
#undef KG_FN
#undef KG_TX
#undef KG_MODE
#undef KG_ARGS
#undef KG_TMA
#undef KG_IM2COL
