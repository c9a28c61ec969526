// Kernels that kgen itself runs to time and to calibrate. support.ptx is this file, compiled once by
// NVRTC 13.0 for compute_75; its `.version` and `.target` are lowered to 6.4 and sm_52, because it
// uses nothing newer, so that the driver of any GPU takes it.
//
// Those that move memory give every thread 16 bytes: of 1, 2, 4 and 8 such packs per thread, in
// blocks of 128 to 1024, that was the fastest on an H200, or within 1 % of it.

typedef unsigned long long u64;

// What a launch costs.
extern "C" __global__ void kgen_empty() {}

// Keeps the GPU busy for a while, so that what is enqueued meanwhile runs without gaps.
extern "C" __global__ void kgen_spin(u64 ns) {
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

// Reads n times 16 bytes. The condition never holds for what kgen writes there; the compiler does not
// know.
extern "C" __global__ void kgen_read(const uint4* __restrict__ x, unsigned* sink, u64 n) {
  u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 v = x[i];
  unsigned s = v.x & v.y & v.z & v.w;
  if (s == 0x80000001u) *sink = s;
}

// Copies n times 16 bytes.
extern "C" __global__ void kgen_copy(const uint4* __restrict__ x, uint4* __restrict__ y, u64 n) {
  u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

// a = b + 3 * c, n times four floats.
extern "C" __global__ void kgen_triad(const float4* __restrict__ b, const float4* __restrict__ c,
                                      float4* __restrict__ a, u64 n) {
  u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = b[i], w = c[i];
  a[i] = make_float4(v.x + 3.f * w.x, v.y + 3.f * w.y, v.z + 3.f * w.z, v.w + 3.f * w.w);
}

// Counts the bytes of x that are not `byte`.
extern "C" __global__ void kgen_differs(const unsigned char* x, u64 n, u64 byte, unsigned* count) {
  u64 i = (blockIdx.x * (u64)blockDim.x + threadIdx.x) * 16;
  unsigned differing = 0;
  for (int k = 0; k < 16 && i + k < n; ++k) differing += x[i + k] != byte;
  if (differing) atomicAdd(count, differing);
}

// Overwrites so many bytes of shared memory, and keeps its multiprocessor for so long that the other
// blocks go to others.
extern "C" __global__ void kgen_scrub(u64 bytes, u64 ns) {
  extern __shared__ unsigned words[];
  volatile unsigned* out = words;
  for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = 0xffffffffu;
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}
