// Clusters: distributed shared memory and cluster barriers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(4, 1, 1) histogram(const int* x, int* out, int n) {
  __shared__ int bins[64];
  cg::cluster_group cluster = cg::this_cluster();
  int rank = cluster.block_rank();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int b = x[i] & 255;
    int* remote = cluster.map_shared_rank(bins, b / 64);
    atomicAdd(remote + b % 64, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(out + rank * 64 + i, bins[i]);
}
extern "C" __global__ void reduce(const float* x, float* out) {
  __shared__ float part;
  auto cluster = cg::this_cluster();
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  float v = cg::reduce(tile, x[blockIdx.x * 32 + threadIdx.x], cg::plus<float>());
  if (threadIdx.x == 0) part = v;
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    float s = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r) s += *cluster.map_shared_rank(&part, r);
    out[blockIdx.x / cluster.num_blocks()] = s;
  }
  cluster.sync();
}
extern "C" __global__ void positions(int* o) {
  __shared__ int s;
  auto c = cg::this_cluster();
  int b = blockIdx.x + gridDim.x * blockIdx.y;
  unsigned idx, idy, nx, ny, explicit_, own, any, gen;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(idx));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(idy));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(nx));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(ny));
  asm("{\n .reg .pred p;\n mov.pred p, %%is_explicit_cluster;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(explicit_));
  int* last = c.map_shared_rank(&s, c.num_blocks() - 1);
  asm("{\n .reg .pred p;\n isspacep.shared::cta p, %1;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(own) : "l"(last));
  asm("{\n .reg .pred p;\n isspacep.shared::cluster p, %1;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(any) : "l"(last));
  asm("{\n .reg .pred p;\n isspacep.shared p, %1;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(gen) : "l"(&s));
  if (threadIdx.x == 33) {
    int* p = o + b * 16;
    p[0] = c.block_index().x; p[1] = c.block_index().y; p[2] = c.block_rank(); p[3] = c.num_blocks();
    p[4] = c.dim_blocks().x; p[5] = c.dim_blocks().y; p[6] = c.query_shared_rank(last); p[7] = c.thread_rank();
    p[8] = idx; p[9] = idy; p[10] = nx; p[11] = ny; p[12] = explicit_; p[13] = own; p[14] = any; p[15] = gen;
  }
}
extern "C" __global__ void ring(const int* x, int* out) {
  __shared__ int mail[32];
  auto c = cg::this_cluster();
  c.sync();
  int next = (c.block_rank() + 1) % c.num_blocks();
  c.map_shared_rank(mail, next)[threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
  c.barrier_arrive();
  int other = x[blockIdx.x * 32 + 31 - threadIdx.x];
  c.barrier_wait();
  out[blockIdx.x * 32 + threadIdx.x] = mail[threadIdx.x] + 1000 * other;
}
// Block 0 sends to every other block through its shared memory and an mbarrier there; the others
// answer in the same way.
__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned there(unsigned a, unsigned rank) {
  unsigned r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(rank));
  return r;
}
extern "C" __global__ void __cluster_dims__(2, 2, 1) multicast(const int* x, int* y) {
  __shared__ __align__(8) unsigned long long bar;
  __shared__ int box[4][32];
  unsigned rank, n;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  for (int r = 0; r < 4; ++r) box[r][threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(&bar)), "r"(rank == 0 ? 32 * (n - 1) : 32) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (rank == 0) {
    for (unsigned r = 1; r < n; ++r) {
      int v = x[r * 32 + threadIdx.x];
      asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(there(smem(&box[0][threadIdx.x]), r)), "r"(v) : "memory");
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there(smem(&bar), r)) : "memory");
    }
  }
  unsigned done;
  do {
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(smem(&bar)) : "memory");
    if (rank != 0 && done) {
      int v = box[0][(threadIdx.x + 1) % 32] * 3, old;
      asm volatile("atom.shared::cluster.exch.b32 %0, [%1], %2;" : "=r"(old) : "r"(there(smem(&box[rank][threadIdx.x]), 0)), "r"(v) : "memory");
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 1;" ::"r"(there(smem(&bar), 0)) : "memory");
    }
  } while (!done);
  if (rank == 0) for (unsigned r = 1; r < n; ++r) y[(r - 1) * 32 + threadIdx.x] = box[r][threadIdx.x];
  asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}
