#include <cuda_fp16.h>

#define BM 32
#define BN 32
#define BK 16

__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], const half* from) {
    unsigned address = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], const half* from) {
    unsigned address = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// c = a * b in f16 with f32 sums: 128 threads, a warp per 16x16 outputs. n is a multiple of 32, k of 16.
extern "C" __global__ void __launch_bounds__(128)
hgemm_ldmatrix(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c,
               int m, int n, int k) {
    __shared__ alignas(16) half as[BM][BK + 8];
    __shared__ alignas(16) half bs[BK][BN + 8];
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp_row = tid / 64 * 16;
    int warp_col = tid / 32 % 2 * 16;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;
    float acc[2][4] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        if (tid < 64) {
            int r = tid / 2;
            int p = tid % 2 * 8;
            uint4 zero = make_uint4(0, 0, 0, 0);
            bool inside = row0 + r < m;
            uint4 value = inside ? *reinterpret_cast<const uint4*>(&a[(row0 + r) * k + k0 + p]) : zero;
            *reinterpret_cast<uint4*>(&as[r][p]) = value;
        } else {
            int p = (tid - 64) / 4;
            int q = tid % 4 * 8;
            uint4 value = *reinterpret_cast<const uint4*>(&b[(k0 + p) * n + col0 + q]);
            *reinterpret_cast<uint4*>(&bs[p][q]) = value;
        }
        __syncthreads();
        unsigned fa[4];
        unsigned fb[4];
        ldmatrix_x4(fa, &as[warp_row + lane % 16][lane / 16 * 8]);
        ldmatrix_x4_trans(fb, &bs[lane % 16][warp_col + lane / 16 * 8]);
        mma(acc[0], fa, fb[0], fb[1]);
        mma(acc[1], fa, fb[2], fb[3]);
        __syncthreads();
    }
    for (int j = 0; j < 2; ++j) {
        int row = row0 + warp_row + lane / 4;
        int col = col0 + warp_col + j * 8 + lane % 4 * 2;
        if (row < m) {
            c[row * n + col] = acc[j][0];
            c[row * n + col + 1] = acc[j][1];
        }
        if (row + 8 < m) {
            c[(row + 8) * n + col] = acc[j][2];
            c[(row + 8) * n + col + 1] = acc[j][3];
        }
    }
}

#define STAGES 3

__device__ __forceinline__ void copy16(half* dst, const half* src, bool inside) {
    unsigned to = (unsigned)__cvta_generic_to_shared(dst);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(src), "r"(inside ? 16 : 0) : "memory");
}

// As hgemm_ldmatrix, with tiles copied two steps ahead into a ring of three stages.
extern "C" __global__ void __launch_bounds__(128)
hgemm_async_3(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c,
              int m, int n, int k) {
    __shared__ alignas(16) half as[STAGES][BM][BK + 8];
    __shared__ alignas(16) half bs[STAGES][BK][BN + 8];
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp_row = tid / 64 * 16;
    int warp_col = tid / 32 % 2 * 16;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;
    int tiles = k / BK;
    float acc[2][4] = {};
    auto load = [&](int stage, int tile) {
        if (tid < 64) {
            int r = tid / 2;
            int p = tid % 2 * 8;
            bool inside = row0 + r < m;
            copy16(&as[stage][r][p], inside ? &a[(row0 + r) * k + tile * BK + p] : a, inside);
        } else {
            int p = (tid - 64) / 4;
            int q = tid % 4 * 8;
            copy16(&bs[stage][p][q], &b[(tile * BK + p) * n + col0 + q], true);
        }
    };
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < tiles) {
            load(s, s);
        }
        asm volatile("cp.async.commit_group;\n" ::: "memory");
    }
    for (int t = 0; t < tiles; ++t) {
        asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        int next = t + STAGES - 1;
        if (next < tiles) {
            load(next % STAGES, next);
        }
        asm volatile("cp.async.commit_group;\n" ::: "memory");
        unsigned fa[4];
        unsigned fb[4];
        ldmatrix_x4(fa, &as[t % STAGES][warp_row + lane % 16][lane / 16 * 8]);
        ldmatrix_x4_trans(fb, &bs[t % STAGES][lane % 16][warp_col + lane / 16 * 8]);
        mma(acc[0], fa, fb[0], fb[1]);
        mma(acc[1], fa, fb[2], fb[3]);
    }
    for (int j = 0; j < 2; ++j) {
        int row = row0 + warp_row + lane / 4;
        int col = col0 + warp_col + j * 8 + lane % 4 * 2;
        if (row < m) {
            *reinterpret_cast<float2*>(&c[row * n + col]) = make_float2(acc[j][0], acc[j][1]);
        }
        if (row + 8 < m) {
            *reinterpret_cast<float2*>(&c[(row + 8) * n + col]) = make_float2(acc[j][2], acc[j][3]);
        }
    }
}
