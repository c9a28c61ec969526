// A matrix product in bf16 or f16: TMA fills a ring of stages in shared memory, wgmma computes from there. One
// thread loads, two warpgroups compute 64 x 128 of the output each; mbarriers say which stages are full and
// which are empty. Everything else goes to a plain kernel.
/*@plan
# Rows may lie apart, elements of a row must not.
a = self if self.stride[1] == 1 else contiguous(self)
b = mat2 if mat2.stride[1] == 1 else contiguous(mat2)
m, k = a.shape
n = b.shape[1]
lda, ldb = a.stride[0], b.stride[0]
define("KIND", "f16" if a.dtype == "f16" else "bf16")
# The rules of tensor maps, and of the kernel: what they do not take goes the plain way. wgmma is there on
# sm_90a alone.
aligned = a.align >= 16 and b.align >= 16 and lda % 8 == 0 and ldb % 8 == 0 and lda >= k and ldb >= n
if cc == 90 and a.dtype in ("bf16", "f16") and aligned and n % 2 == 0 and m * n * k > 0:
    map_a = tensor_map(a, box=[128, 64], swizzle=128)
    map_b = tensor_map(b, box=[64, 64], swizzle=128)
    launch("mm_wgmma", grid=(cdiv(m, 128), cdiv(n, 128)), block=384, smem=4 * 32768 + 1024,
           args=[map_a, map_b, out, m, n, k])
else:
    launch("mm_plain", grid=(cdiv(m, 16), cdiv(n, 16)), block=(16, 16), args=[a, b, out, m, n, k, lda, ldb])
@*/
#include <kg/hopper.cuh>

extern "C" __global__ void __launch_bounds__(256)
mm_plain(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ out, int m, int n,
         int k, long long lda, long long ldb) {
    using Acc = kg::acc_t<T_self>;
    __shared__ Acc tile_a[16][17], tile_b[16][17];
    const int row = blockIdx.x * 16 + threadIdx.y, column = blockIdx.y * 16 + threadIdx.x;
    Acc sum = 0;
    for (int k0 = 0; k0 < k; k0 += 16) {
        const int at_a = k0 + threadIdx.x, at_b = k0 + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && at_a < k ? kg::to_acc(a[row * lda + at_a]) : Acc(0);
        tile_b[threadIdx.y][threadIdx.x] = column < n && at_b < k ? kg::to_acc(b[at_b * ldb + column]) : Acc(0);
        __syncthreads();
        for (int i = 0; i < 16; ++i) {
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        out[static_cast<long long>(row) * n + column] = kg::from_acc<T_out>(sum);
    }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int TILE_M = 128, TILE_N = 128, TILE_K = 64, STAGES = 4;
constexpr int CONSUMER_WARPS = 8;

// A step along K: rows of 128 bytes as TMA leaves them. `b` is two boxes of 64 columns.
struct Stage {
    T_self a[TILE_M * TILE_K];
    T_mat2 b[2][TILE_K * 64];
};

struct alignas(2 * sizeof(T_out)) Pair {
    T_out first, second;
};

extern __shared__ unsigned char dynamic[];

extern "C" __global__ void __launch_bounds__(384, 1)
mm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         T_out* __restrict__ out, int m, int n, int k) {
    __shared__ alignas(8) uint64_t full[STAGES], empty[STAGES];
    // A swizzle of 128 bytes repeats every 1024.
    const uint32_t beyond = kg::smem_address(dynamic) % 1024;
    Stage* stages = reinterpret_cast<Stage*>(dynamic + (1024 - beyond) % 1024);
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            kg::mbarrier_init(&full[stage], 1);
            kg::mbarrier_init(&empty[stage], CONSUMER_WARPS);
        }
        kg::fence_mbarrier_init();
    }
    __syncthreads();

    const int row0 = blockIdx.x * TILE_M, column0 = blockIdx.y * TILE_N;
    const int steps = (k + TILE_K - 1) / TILE_K;
    const int group = threadIdx.x / 128;
    if (group == 0) {
        // One thread loads; its warpgroup gives its registers to the others.
        kg::registers_dec<40>();
        if (threadIdx.x < 32 && kg::elect_one()) {
            for (int step = 0; step < steps; ++step) {
                Stage& stage = stages[step % STAGES];
                uint64_t* bar = &full[step % STAGES];
                // The first wait for a stage asks for the phase before the first, and returns at once.
                kg::mbarrier_wait(&empty[step % STAGES], step / STAGES % 2 ^ 1);
                // Boxes bring all their bytes; what lies outside of the matrices is zero.
                kg::mbarrier_arrive_expect_tx(bar, sizeof(Stage));
                kg::tma_load(stage.a, &map_a, bar, step * TILE_K, row0);
                kg::tma_load(stage.b[0], &map_b, bar, column0, step * TILE_K);
                kg::tma_load(stage.b[1], &map_b, bar, column0 + 64, step * TILE_K);
            }
        }
    } else {
        kg::registers_inc<232>();
        const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
        const int first_row = (group - 1) * 64;
        float sum[TILE_N / 2] = {};
        for (int step = 0; step < steps; ++step) {
            const Stage& stage = stages[step % STAGES];
            kg::mbarrier_wait(&full[step % STAGES], step / STAGES % 2);
            // `a` is K-major; `b` has N innermost: 8 rows of K take 1024 bytes, 64 columns a box.
            const uint64_t a = kg::wgmma_descriptor<128>(stage.a + first_row * TILE_K);
            const uint64_t b = kg::wgmma_descriptor<128>(stage.b, sizeof(stage.b[0]), 1024);
            kg::wgmma_fence();
#pragma unroll
            for (int i = 0; i < TILE_K / 16; ++i) {
                kg::wgmma<kg::mma::KIND, TILE_N, 0, 1>(sum, kg::wgmma_advance(a, i * 32),
                                                       kg::wgmma_advance(b, i * 16 * 128));
            }
            kg::wgmma_commit();
            // The step before has been read once no more than this one is under way.
            kg::wgmma_wait<1>();
            if (step > 0 && lane == 0) {
                kg::mbarrier_arrive(&empty[(step - 1) % STAGES]);
            }
        }
        kg::wgmma_wait<0>();
        kg::wgmma_hold(sum);
        for (int half = 0; half < 2; ++half) {
            const int row = row0 + first_row + warp * 16 + lane / 4 + half * 8;
#pragma unroll
            for (int i = 0; i < TILE_N / 8; ++i) {
                const int column = column0 + i * 8 + lane % 4 * 2;
                // `n` is even, so a pair is inside or outside as a whole.
                if (row < m && column < n) {
                    const float* at = &sum[i * 4 + half * 2];
                    const Pair pair = {kg::from_float<T_out>(at[0]), kg::from_float<T_out>(at[1])};
                    *reinterpret_cast<Pair*>(&out[static_cast<long long>(row) * n + column]) = pair;
                }
            }
        }
    }
}

#endif
