// What must not be done with mbarriers, and waits that never end.
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
extern "C" __global__ void uninitialised(int* y) {
  __shared__ unsigned long long bar[2];
  if (threadIdx.x == 0) init(bar, 32);
  __syncthreads();
  arrive(bar + 1);
  y[threadIdx.x] = 1;
}
extern "C" __global__ void overwritten(int* y) {
  __shared__ unsigned long long bar;
  __shared__ volatile int box[32];
  if (threadIdx.x == 0) init(&bar, 32);
  __syncthreads();
  if (threadIdx.x == 0) *(volatile int*)&bar = 7;
  __syncthreads();
  arrive(&bar);
  y[threadIdx.x] = box[threadIdx.x];
}
extern "C" __global__ void too_many(int* y) {
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) init(&bar, 20);
  __syncthreads();
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 3;" ::"r"(smem(&bar)) : "memory");
  y[threadIdx.x] = 1;
}
extern "C" __global__ void twice(int* y) {
  __shared__ unsigned long long bar;
  init(&bar, 32);
  __syncthreads();
  y[threadIdx.x] = 1;
}
// One thread of each warp too few arrives.
extern "C" __global__ void never(int* y) {
  __shared__ unsigned long long bar[3];
  if (threadIdx.x == 0) init(bar + 2, 64);
  __syncthreads();
  if (threadIdx.x % 32 != 5) arrive(bar + 2);
  wait(bar + 2, 0);
  y[threadIdx.x] = 1;
}
// Bytes are announced that never come.
extern "C" __global__ void no_bytes(int* y) {
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) init(&bar, 1);
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(smem(&bar)) : "memory");
  unsigned done;
  do {
    asm volatile("{\n .reg .pred p;\n mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(smem(&bar)) : "memory");
  } while (!done);
  y[threadIdx.x] = 1;
}
// The copy is read before it has arrived.
extern "C" __global__ void unawaited(const int* x, int* y) {
  __shared__ unsigned long long bar;
  __shared__ int box[32];
  if (threadIdx.x == 0) init(&bar, 32);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(smem(box + threadIdx.x)), "l"(x + threadIdx.x) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(smem(&bar)) : "memory");
  y[threadIdx.x] = box[threadIdx.x];
}
// Gives up after a while, as debug builds do.
extern "C" __global__ void gives_up(int* y) {
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) init(&bar, 33);
  __syncthreads();
  arrive(&bar);
  unsigned done = 0;
  for (int i = 0; i < 100 && !done; ++i)
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(smem(&bar)) : "memory");
  y[threadIdx.x] = done;
}
// The consumers' barrier wants one warp more than comes.
extern "C" __global__ void named(int* y) {
  if (threadIdx.x < 64) asm volatile("bar.sync 1, 128;" ::: "memory");
  else if (threadIdx.x < 96) asm volatile("bar.arrive 1, 128;" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  y[threadIdx.x] = 1;
}
// The threads that arrive do not know that the mbarrier is initialised.
extern "C" __global__ void too_early(int* y) {
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) init(&bar, 64);
  arrive(&bar);
  wait(&bar, 0);
  y[threadIdx.x] = 1;
}
// The consumers do not wait for the producer.
extern "C" __global__ void too_eager(const int* x, int* y) {
  __shared__ unsigned long long bar;
  __shared__ int box[32];
  if (threadIdx.x == 0) init(&bar, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    box[threadIdx.x] = x[threadIdx.x];
    arrive(&bar);
  } else {
    y[threadIdx.x - 32] = box[threadIdx.x - 32];
  }
}
