// mbarriers as Hopper kernels use them, by inline PTX.
__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned long long* bar, unsigned n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(bar)), "r"(n) : "memory");
}
__device__ void arrive(unsigned long long* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem(bar)) : "memory");
}
__device__ void wait(unsigned long long* bar, unsigned parity) {
  asm volatile(
      "{\n .reg .pred done;\nagain:\n"
      " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n @done bra over;\n bra again;\nover:\n}"
      ::"r"(smem(bar)), "r"(parity) : "memory");
}

// One warp fills a ring of stages, three warps empty it.
extern "C" __global__ void pipeline(const float* x, float* y, int n) {
  const int stages = 4, width = 96;
  __shared__ float ring[stages][width];
  __shared__ unsigned long long full[stages], empty[stages];
  if (threadIdx.x == 0)
    for (int s = 0; s < stages; ++s) { init(full + s, 32); init(empty + s, 96); }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 0; k < n; ++k) {
      int s = k % stages, round = k / stages;
      wait(empty + s, (round & 1) ^ 1);
      for (int i = threadIdx.x; i < width; i += 32) ring[s][i] = x[k * width + i];
      arrive(full + s);
    }
  } else {
    float sum = 0;
    int t = threadIdx.x - 32;
    for (int k = 0; k < n; ++k) {
      int s = k % stages, round = k / stages;
      wait(full + s, round & 1);
      sum += ring[s][t] * ring[s][(t + 33) % width];
      arrive(empty + s);
    }
    y[t] = sum;
  }
}

// States, counts and drops. Each thread writes what it saw.
extern "C" __global__ void counts(unsigned* y) {
  __shared__ __align__(8) unsigned long long bar;
  __shared__ int turn;
  if (threadIdx.x == 0) { init(&bar, 40); turn = 0; }
  __syncthreads();
  unsigned long long state;
  if (threadIdx.x < 31) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(smem(&bar)) : "memory");
  } else {
    // 9 arrivals: 5 at once, and 4 that leave the barrier for good.
    unsigned long long first;
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 5;" : "=l"(first) : "r"(smem(&bar)) : "memory");
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], 4;" : "=l"(state) : "r"(smem(&bar)) : "memory");
    unsigned pending;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(first));
    y[32] = pending;
  }
  unsigned done;
  do {
    asm volatile("{\n .reg .pred p;\n mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(smem(&bar)), "l"(state) : "memory");
  } while (!done);
  // The next phase waits for 36.
  __syncthreads();
  if (threadIdx.x < 4) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 9;" ::"r"(smem(&bar)) : "memory");
  asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%1], 1, 1000;\n selp.u32 %0, 1, 0, p;\n}"
               : "=r"(done) : "r"(smem(&bar)) : "memory");
  y[threadIdx.x] = done + 10 * turn;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(smem(&bar)) : "memory");
    init(&bar, 1);
  }
}

// Bytes are announced by one thread and counted down by the others.
extern "C" __global__ void bytes(const int* x, int* y) {
  __shared__ __align__(8) unsigned long long bar;
  __shared__ int box[64];
  if (threadIdx.x == 0) {
    init(&bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;\n fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    unsigned long long state;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], 256;" : "=l"(state) : "r"(smem(&bar)) : "memory");
  }
  box[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 32) asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 4;" ::"r"(smem(&bar)) : "memory");
  __threadfence_block();
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 4;" ::"r"(smem(&bar)) : "memory");
  if (threadIdx.x < 32) asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 4;" ::"r"(smem(&bar)) : "memory");
  wait(&bar, 0);
  y[threadIdx.x] = box[63 - threadIdx.x];
}

// Asynchronous copies arrive, counted among the expected arrivals or not.
extern "C" __global__ void copies(const float4* x, float4* y, int counted) {
  __shared__ __align__(8) unsigned long long bar;
  __shared__ float4 box[64];
  if (threadIdx.x == 0) init(&bar, 64);
  __syncthreads();
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem(box + threadIdx.x)), "l"(x + threadIdx.x) : "memory");
  if (counted) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(smem(&bar)) : "memory");
  } else {
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(smem(&bar)) : "memory");
    arrive(&bar);
  }
  wait(&bar, 0);
  y[threadIdx.x] = box[63 - threadIdx.x];
}

// Producers and consumers at named barriers.
extern "C" __global__ void named(const int* x, int* y, int n) {
  __shared__ int box[2][64];
  int warp = threadIdx.x / 32;
  for (int k = 0; k < n; ++k) {
    int s = k & 1;
    if (warp < 2) {
      if (k >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + s) : "memory");
      box[s][threadIdx.x] = x[64 * k + threadIdx.x];
      asm volatile("bar.arrive %0, 128;" ::"r"(1 + s) : "memory");
    } else {
      asm volatile("bar.sync %0, 128;" ::"r"(1 + s) : "memory");
      y[64 * k + threadIdx.x - 64] = box[s][(threadIdx.x + 1) % 64];
      if (k + 2 < n) asm volatile("bar.arrive %0, 128;" ::"r"(3 + s) : "memory");
    }
  }
}
