// Clusters that cannot go on, and uses of other blocks' memory that are wrong.
#define RANK(r) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r))
#define ARRIVE asm volatile("barrier.cluster.arrive.aligned;" ::: "memory")
#define WAIT asm volatile("barrier.cluster.wait.aligned;" ::: "memory")
__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned there(unsigned a, unsigned rank) {
  unsigned r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(rank));
  return r;
}
// Block 1 waits for an mbarrier while the others wait for it at the cluster's barrier.
extern "C" __global__ void missed(int* y) {
  __shared__ unsigned long long bar;
  unsigned rank;
  RANK(rank);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem(&bar)) : "memory");
  __syncthreads();
  if (rank == 1) {
    asm volatile("{\n .reg .pred done;\nagain:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n @!done bra again;\n}" ::"r"(smem(&bar)) : "memory");
  }
  ARRIVE;
  WAIT;
  y[threadIdx.x] = 1;
}
// The last barrier is missing: block 0 reads what is gone.
extern "C" __global__ void exited(const int* x, int* y) {
  __shared__ int box[32];
  unsigned rank;
  RANK(rank);
  box[threadIdx.x] = x[threadIdx.x];
  ARRIVE;
  WAIT;
  int v = 0;
  if (rank == 0) asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there(smem(box + threadIdx.x), 1)) : "memory");
  if (rank == 0) y[threadIdx.x] = v;
}
extern "C" __global__ void overflow(int* y) {
  __shared__ int box[32];
  unsigned rank;
  RANK(rank);
  box[threadIdx.x] = 1;
  ARRIVE;
  WAIT;
  asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(there(smem(box), rank ^ 1) + 4 * threadIdx.x + 4), "r"(5) : "memory");
  ARRIVE;
  WAIT;
  y[threadIdx.x] = box[threadIdx.x];
}
extern "C" __global__ void no_such_block(int* y) {
  __shared__ int box[32];
  box[threadIdx.x] = 1;
  y[threadIdx.x] = there(smem(box), 2 + threadIdx.x / 16);
}
extern "C" __global__ void lone_wait(int* y) {
  WAIT;
  y[threadIdx.x] = 1;
}
// An mbarrier that the other block arrives at; `how` makes it known: by a fence (1) or by the arrival (2).
extern "C" __global__ void unknown(int* y, int how) {
  __shared__ unsigned long long bar;
  unsigned rank;
  RANK(rank);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem(&bar)) : "memory");
    if (how == 1) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (how == 2) ARRIVE;
  else asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  WAIT;
  if (threadIdx.x == 0) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there(smem(&bar), rank ^ 1)) : "memory");
  asm volatile("{\n .reg .pred done;\nagain:\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0;\n @!done bra again;\n}" ::"r"(smem(&bar)) : "memory");
  ARRIVE;
  WAIT;
  y[32 * blockIdx.x + threadIdx.x] = 1;
}
