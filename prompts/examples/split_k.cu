/*@plan
m, k = self.shape
n = weight.shape[0]
define("BF16", self.dtype == "bf16")
fits = cc >= 80 and k % 8 == 0 and self.stride[1] == 1 and weight.stride[1] == 1 and min(self.align, weight.align) >= 16
fits = fits and self.stride[0] % 8 == 0 and weight.stride[0] % 8 == 0 and min(m, n, k) > 0
if fits:
    # Few columns leave most SMs idle: k is split until all of them read the weight, in parts that end at multiples of 32.
    parts = max(1, min(cdiv(k, 512), 8 * sm_count // cdiv(n, 64)))
    depth = cdiv(cdiv(k, parts), 32) * 32
    parts = cdiv(k, depth)
    sums = scratch(parts * m * n * 4)
    launch("partial_sums", grid=(cdiv(n, 64), parts, cdiv(m, 16)), block=256,
           args=[self, weight, ptr(sums), m, n, k, depth, self.stride[0], weight.stride[0]])
    launch("add_relu", grid=cdiv(m * n, 256), block=256, args=[ptr(sums), out, m * n, parts])
else:
    launch("plain", grid=cdiv(m * n, 256), block=256,
           args=[self, weight, out, m, n, k, self.stride[0], self.stride[1], weight.stride[0], weight.stride[1]])
@*/
__device__ T_out relu(float x) { return kg::from_float<T_out>(x < 0.0f ? 0.0f : x); }   // NaN stays NaN

extern "C" __global__ void plain(const T_self* __restrict__ a, const T_weight* __restrict__ b, T_out* __restrict__ out,
                                 long long m, long long n, long long k, long long a_row, long long a_col,
                                 long long b_row, long long b_col) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0.0f;
  for (long long l = 0; l < k; ++l)
    sum = fmaf(kg::to_float(a[i / n * a_row + l * a_col]), kg::to_float(b[i % n * b_row + l * b_col]), sum);
  out[i] = relu(sum);
}

#if BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif
__device__ __forceinline__ void mma(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

// A warp has 16 rows, 8 columns and a part of k. The order of k within a product is free, so a thread takes the 8
// elements that it loads at once, of both factors alike: no shared memory, and all loads are 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
partial_sums(const T_self* __restrict__ a, const T_weight* __restrict__ b, float* __restrict__ sums, int m, int n, int k,
             int depth, long long a_row, long long b_row) {
  const int group = threadIdx.x % 32 / 4, own = threadIdx.x % 4 * 8;
  const int row = blockIdx.z * 16 + group, column0 = blockIdx.x * 64 + threadIdx.x / 32 * 8, column = column0 + group;
  const int begin = blockIdx.y * depth, end = min(k, begin + depth);
  const uint4 none = {0, 0, 0, 0};
  float sum[4] = {};
  for (int l = begin + own; l < begin + depth; l += 8 * 32) {
    uint4 w[8];                                 // 8 loads of the weight under way per thread
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int at = l + i * 32;
      w[i] = at < end && column < n ? __ldcs(reinterpret_cast<const uint4*>(b + column * b_row + at)) : none;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {               // all threads of a warp take part in every `mma`
      const int at = l + i * 32;
      const uint4 x = at < end && row < m ? *reinterpret_cast<const uint4*>(a + row * a_row + at) : none;
      const uint4 y = at < end && row + 8 < m ? *reinterpret_cast<const uint4*>(a + (row + 8) * a_row + at) : none;
      mma(sum, x.x, y.x, x.y, y.y, w[i].x, w[i].y);
      mma(sum, x.z, y.z, x.w, y.w, w[i].z, w[i].w);
    }
  }
  sums += static_cast<long long>(blockIdx.y) * m * n;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int r = row + i / 2 * 8, c = column0 + threadIdx.x % 4 * 2 + i % 2;
    if (r < m && c < n) sums[static_cast<long long>(r) * n + c] = sum[i];
  }
}

// Adds the parts in a fixed order: the result does not depend on which block came first.
extern "C" __global__ void add_relu(const float* __restrict__ sums, T_out* __restrict__ out, long long count, int parts) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= count) return;
  float sum = 0.0f;
  for (int part = 0; part < parts; ++part) sum += sums[part * count + i];
  out[i] = relu(sum);
}
