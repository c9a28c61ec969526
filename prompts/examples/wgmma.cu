/*@plan
m, k = self.shape
n = mat2.shape[1]
define("BF16", self.dtype == "bf16")
# Tensor maps: 16-byte aligned rows that do not overlap. Anything else goes the plain way.
fits = cc == 90 and self.stride[1] == 1 and mat2.stride[1] == 1 and self.stride[0] >= k and mat2.stride[0] >= n
fits = fits and min(self.align, mat2.align) >= 16 and self.stride[0] % 8 == 0 and mat2.stride[0] % 8 == 0
if fits and min(m, n, k) > 0:
    a = tensor_map(self, box=[128, 64], swizzle=128, l2=256)   # 128 rows of 64 elements along k
    b = tensor_map(mat2, box=[64, 64], swizzle=128, l2=256)    # 64 rows of k, 64 columns: four of them per tile
    tiles = cdiv(m, 128) * cdiv(n, 256)
    launch("mm_relu", grid=min(tiles, sm_count), block=384, smem=4 * 49152, args=[a, b, out, m, n, k])
else:
    launch("mm_relu_plain", grid=cdiv(m * n, 256), block=256,
           args=[self, mat2, out, m, n, k, self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
@*/
#include <kg/hopper.cuh>

__device__ T_out relu(float x) { return kg::from_float<T_out>(x < 0.0f ? 0.0f : x); }   // NaN stays NaN

extern "C" __global__ void mm_relu_plain(const T_self* __restrict__ a, const T_mat2* __restrict__ b,
                                         T_out* __restrict__ out, long long m, long long n, long long k,
                                         long long a_row, long long a_col, long long b_row, long long b_col) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0.0f;
  for (long long l = 0; l < k; ++l)
    sum = fmaf(kg::to_float(a[i / n * a_row + l * a_col]), kg::to_float(b[l * b_row + i % n * b_col]), sum);
  out[i] = relu(sum);
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr int STAGES = 4;
struct Stage {                    // as TMA leaves it: rows of 128 bytes, 128-byte swizzled
  T_self a[128 * 64];             // [m][k]
  T_mat2 b[4][64 * 64];           // four boxes of [k][n]
};
struct alignas(2 * sizeof(T_out)) Pair { T_out x, y; };

// One thread loads, two warpgroups multiply 64 x 256 each; a ring of stages between them, persistent blocks.
extern "C" __global__ void __launch_bounds__(384, 1)
mm_relu(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
        T_out* __restrict__ out, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  Stage* stages = reinterpret_cast<Stage*>(dynamic);
  __shared__ uint64_t full[STAGES], empty[STAGES];
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      kg::mbarrier_init(&full[s], 1);
      kg::mbarrier_init(&empty[s], 2);          // one arrival per multiplying warpgroup
    }
    kg::fence_mbarrier_init();
  }
  __syncthreads();
  const int steps = (k + 63) / 64, columns = (n + 255) / 256, tiles = (m + 127) / 128 * columns;
  unsigned turn = 0;                            // stage turn % STAGES, in its round turn / STAGES
  if (threadIdx.x < 128) {
    kg::registers_dec<40>();                    // the loader needs few: the others take them
    if (threadIdx.x == 0) {
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int step = 0; step < steps; ++step, ++turn) {
          const int s = turn % STAGES;
          kg::mbarrier_wait(&empty[s], turn / STAGES % 2 ^ 1);   // passes at once in the first round
          kg::mbarrier_arrive_expect_tx(&full[s], sizeof(Stage));
          kg::tma_load(stages[s].a, &map_a, &full[s], step * 64, tile / columns * 128);
          for (int j = 0; j < 4; ++j)
            kg::tma_load(stages[s].b[j], &map_b, &full[s], tile % columns * 256 + j * 64, step * 64);
        }
      }
    }
    return;
  }
  kg::registers_inc<232>();
  const int group = threadIdx.x / 128 - 1;
  constexpr kg::mma TYPE = BF16 ? kg::mma::bf16 : kg::mma::f16;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float sum[128];
    for (int step = 0; step < steps; ++step, ++turn) {
      const int s = turn % STAGES;
      kg::mbarrier_wait(&full[s], turn / STAGES % 2);
      const uint64_t a = kg::wgmma_descriptor<128>(&stages[s].a[group * 64 * 64]);
      const uint64_t b = kg::wgmma_descriptor<128>(stages[s].b, 64 * 128, 1024);   // n-major: next box, next 8 rows
      kg::wgmma_fence();
#pragma unroll
      for (int l = 0; l < 64; l += 16)          // 16 of k: 32 bytes of a row of `a`, 16 rows of `b`
        kg::wgmma<TYPE, 256, 0, 1>(sum, kg::wgmma_advance(a, l * 2), kg::wgmma_advance(b, l * 128), step + l > 0);
      kg::wgmma_commit();
      kg::wgmma_wait<1>();                      // the step before is done, this one goes on
      if (step > 0 && threadIdx.x % 128 == 0) kg::mbarrier_arrive(&empty[(turn - 1) % STAGES]);
    }
    kg::wgmma_wait<0>();
    kg::wgmma_hold(sum);
    if (threadIdx.x % 128 == 0) kg::mbarrier_arrive(&empty[(turn - 1) % STAGES]);
    const int row = tile / columns * 128 + group * 64 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int i = 0; i < 128; i += 2) {
      const int r = row + i / 2 % 2 * 8, c = tile % columns * 256 + i / 4 * 8 + threadIdx.x % 4 * 2;
      T_out* to = out + static_cast<long long>(r) * n + c;
      if (r < m && n % 2 == 0 && c < n) *reinterpret_cast<Pair*>(to) = {relu(sum[i]), relu(sum[i + 1])};
      if (r < m && n % 2 == 1 && c < n) to[0] = relu(sum[i]);
      if (r < m && n % 2 == 1 && c + 1 < n) to[1] = relu(sum[i + 1]);
    }
  }
}
#endif
