// sm_90a
#include <cuda_fp16.h>
#include <kg/hopper.cuh>
#define KERNEL extern "C" __global__ void
#define MAP const __grid_constant__ CUtensorMap

// y[64][32] from the sums of a warpgroup.
template <class T> __device__ __forceinline__ void put(T* y, const T (&d)[16]) {
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    int col = threadIdx.x % 4 * 2;
    for (int i = 0; i < 16; ++i) {
        y[(row + i / 2 % 2 * 8) * 32 + i / 4 * 8 + col + i % 2] = d[i];
    }
}

// Loads 64 rows of A and 32 of B, all of 128 bytes.
__device__ __forceinline__ void load(void* a, void* b, const CUtensorMap* ma, const CUtensorMap* mb, uint64_t* full) {
    if (threadIdx.x == 0) {
        kg::mbarrier_init(full, 1);
        kg::fence_mbarrier_init();
        kg::mbarrier_arrive_expect_tx(full, 64 * 128 + 32 * 128);
        kg::tma_load(a, ma, full, 0, 64 * blockIdx.x);
        kg::tma_load(b, mb, full, 0, 0);
    }
    __syncthreads();
    kg::mbarrier_wait(full, 0);
}

KERNEL wgmma_bf16(MAP ma, MAP mb, float* __restrict__ y) {
    __shared__ alignas(1024) char a[64 * 128];
    __shared__ alignas(1024) char b[32 * 128];
    __shared__ uint64_t full;
    load(a, b, &ma, &mb, &full);
    float d[16];
    uint64_t da = kg::wgmma_descriptor<128>(a);
    uint64_t db = kg::wgmma_descriptor<128>(b);
    kg::wgmma_fence();
    for (int k = 0; k < 4; ++k) {
        kg::wgmma<kg::mma::bf16, 32>(d, kg::wgmma_advance(da, 32 * k), kg::wgmma_advance(db, 32 * k), k > 0);
    }
    kg::wgmma_commit();
    kg::wgmma_wait<0>();
    kg::wgmma_hold(d);
    put(y + 2048 * blockIdx.x, d);
}

KERNEL wgmma_tf32(MAP ma, MAP mb, float* __restrict__ y) {
    __shared__ alignas(1024) char a[64 * 128];
    __shared__ alignas(1024) char b[32 * 128];
    __shared__ uint64_t full;
    load(a, b, &ma, &mb, &full);
    float d[16];
    for (int i = 0; i < 16; ++i) {
        d[i] = 1.0f;
    }
    uint64_t da = kg::wgmma_descriptor<128>(a);
    uint64_t db = kg::wgmma_descriptor<128>(b);
    kg::wgmma_fence();
    for (int k = 0; k < 4; ++k) {
        kg::wgmma<kg::mma::tf32, 32>(d, kg::wgmma_advance(da, 32 * k), kg::wgmma_advance(db, 32 * k));
    }
    kg::wgmma_commit();
    kg::wgmma_wait<0>();
    kg::wgmma_hold(d);
    put(y + 2048 * blockIdx.x, d);
}

KERNEL wgmma_e4m3(MAP ma, MAP mb, float* __restrict__ y) {
    __shared__ alignas(1024) char a[64 * 128];
    __shared__ alignas(1024) char b[32 * 128];
    __shared__ uint64_t full;
    load(a, b, &ma, &mb, &full);
    float d[16];
    uint64_t da = kg::wgmma_descriptor<128>(a);
    uint64_t db = kg::wgmma_descriptor<128>(b);
    kg::wgmma_fence();
    for (int k = 0; k < 4; ++k) {
        kg::wgmma<kg::mma::e4m3, 32>(d, kg::wgmma_advance(da, 32 * k), kg::wgmma_advance(db, 32 * k), k > 0);
    }
    kg::wgmma_commit();
    kg::wgmma_wait<0>();
    kg::wgmma_hold(d);
    put(y + 2048 * blockIdx.x, d);
}

// Integers, by groups that are waited for one behind.
KERNEL wgmma_s8(MAP ma, MAP mb, int* __restrict__ y) {
    __shared__ alignas(1024) char a[64 * 128];
    __shared__ alignas(1024) char b[32 * 128];
    __shared__ uint64_t full;
    load(a, b, &ma, &mb, &full);
    int d[16];
    for (int i = 0; i < 16; ++i) {
        d[i] = 0;
    }
    uint64_t da = kg::wgmma_descriptor<128>(a);
    uint64_t db = kg::wgmma_descriptor<128>(b);
    kg::wgmma_fence();
    for (int k = 0; k < 4; ++k) {
        asm volatile("wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,"
                     "%13,%14,%15}, %16, %17, 1;"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]),
                       "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]),
                       "+r"(d[15])
                     : "l"(kg::wgmma_advance(da, 32 * k)), "l"(kg::wgmma_advance(db, 32 * k)));
        kg::wgmma_commit();
        kg::wgmma_wait<1>();
    }
    kg::wgmma_wait<0>();
    for (int i = 0; i < 16; ++i) {
        asm volatile("" : "+r"(d[i])::"memory");
    }
    put(y + 2048 * blockIdx.x, d);
}

// A from registers; B is put into shared memory by threads: pieces of 8 rows of 16 bytes.
KERNEL wgmma_registers(const __half* __restrict__ x, const __half* __restrict__ w, float* __restrict__ y) {
    __shared__ alignas(128) __half a[64][16];
    __shared__ alignas(128) __half b[4][2][8][8];
    for (int i = threadIdx.x; i < 64 * 16; i += 128) {
        a[i / 16][i % 16] = x[1024 * blockIdx.x + i];
    }
    for (int i = threadIdx.x; i < 32 * 16; i += 128) {
        int row = i / 16;
        int k = i % 16;
        b[row / 8][k / 8][row % 8][k % 8] = w[i];
    }
    kg::fence_async_shared();
    __syncthreads();
    uint32_t r[4];
    int lane = threadIdx.x % 32;
    kg::ldmatrix(r, &a[threadIdx.x / 32 * 16 + lane % 16][lane / 16 * 8]);
    float d[16];
    kg::wgmma_fence();
    kg::wgmma<kg::mma::f16, 32>(d, r, kg::wgmma_descriptor<0>(b, 128, 256), false);
    kg::wgmma_commit();
    kg::wgmma_wait<0>();
    kg::wgmma_hold(d);
    put(y + 2048 * blockIdx.x, d);
}

// B with its columns innermost, as a row-major matrix [k][n] has them.
KERNEL wgmma_rows(MAP ma, MAP mb, float* __restrict__ y) {
    __shared__ alignas(1024) char a[64 * 128];
    __shared__ alignas(1024) char b[64 * 64];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        kg::mbarrier_init(&full, 1);
        kg::fence_mbarrier_init();
        kg::mbarrier_arrive_expect_tx(&full, sizeof a + sizeof b);
        kg::tma_load(a, &ma, &full, 0, 64 * blockIdx.x);
        kg::tma_load(b, &mb, &full, 0, 0);
    }
    __syncthreads();
    kg::mbarrier_wait(&full, 0);
    float d[16];
    uint64_t da = kg::wgmma_descriptor<128>(a);
    uint64_t db = kg::wgmma_descriptor<64>(b, 4096, 512);
    kg::wgmma_fence();
    for (int k = 0; k < 4; ++k) {
        kg::wgmma<kg::mma::f16, 32, 0, 1>(d, kg::wgmma_advance(da, 32 * k), kg::wgmma_advance(db, 1024 * k), k > 0);
    }
    kg::wgmma_commit();
    kg::wgmma_wait<0>();
    kg::wgmma_hold(d);
    put(y + 2048 * blockIdx.x, d);
}

#define STAGES 2

// A warpgroup loads, another one multiplies; they pass registers and stages to each other.
KERNEL __launch_bounds__(256) wgmma_ring(MAP ma, MAP mb, float* __restrict__ y, int tiles) {
    __shared__ alignas(1024) char a[STAGES][64 * 128];
    __shared__ alignas(1024) char b[STAGES][32 * 128];
    __shared__ uint64_t full[STAGES];
    __shared__ uint64_t empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            kg::mbarrier_init(&full[s], 1);
            kg::mbarrier_init(&empty[s], 128);
        }
        kg::fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        kg::registers_dec<40>();
        if (threadIdx.x == 128) {
            for (int t = 0; t < tiles; ++t) {
                int s = t % STAGES;
                kg::mbarrier_wait(&empty[s], (t / STAGES + 1) % 2);
                kg::mbarrier_arrive_expect_tx(&full[s], sizeof a[0] + sizeof b[0]);
                kg::tma_load(a[s], &ma, &full[s], 64 * t, 64 * blockIdx.x);
                kg::tma_load(b[s], &mb, &full[s], 64 * t, 0);
            }
        }
        return;
    }
    kg::registers_inc<232>();
    float d[16];
    for (int t = 0; t < tiles; ++t) {
        int s = t % STAGES;
        kg::mbarrier_wait(&full[s], t / STAGES % 2);
        uint64_t da = kg::wgmma_descriptor<128>(a[s]);
        uint64_t db = kg::wgmma_descriptor<128>(b[s]);
        kg::wgmma_fence();
        for (int k = 0; k < 4; ++k) {
            kg::wgmma<kg::mma::bf16, 32>(d, kg::wgmma_advance(da, 32 * k), kg::wgmma_advance(db, 32 * k), t + k > 0);
        }
        kg::wgmma_commit();
        kg::wgmma_wait<0>();
        kg::mbarrier_arrive(&empty[s]);
    }
    kg::wgmma_hold(d);
    put(y + 2048 * blockIdx.x, d);
}
