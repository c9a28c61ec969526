// sm_90
#include <cuda_fp16.h>

// c = a * b in f16, 16x16x16 per warp and step; the result leaves through stmatrix and shared memory.
// One block of two warps per 16x32 outputs; m is a multiple of 16, n of 32, k of 16.
extern "C" __global__ void hgemm_stmatrix(const half* __restrict__ a, const half* __restrict__ b,
                                          half* __restrict__ c, int n, int k) {
    __shared__ alignas(16) half as[16][16 + 8];
    __shared__ alignas(16) half bs[16][32 + 8];
    __shared__ alignas(16) half cs[16][32 + 8];
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp_col = tid / 32 * 16;
    int row0 = blockIdx.y * 16;
    int col0 = blockIdx.x * 32;
    float acc[2][4] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        if (tid < 32) {
            int r = tid / 2;
            int p = tid % 2 * 8;
            *reinterpret_cast<uint4*>(&as[r][p]) = *reinterpret_cast<const uint4*>(&a[(row0 + r) * k + k0 + p]);
        }
        int p = tid / 4;
        int q = tid % 4 * 8;
        *reinterpret_cast<uint4*>(&bs[p][q]) = *reinterpret_cast<const uint4*>(&b[(k0 + p) * n + col0 + q]);
        __syncthreads();
        unsigned fa[4];
        unsigned fb[4];
        unsigned from_a = (unsigned)__cvta_generic_to_shared(&as[lane % 16][lane / 16 * 8]);
        unsigned from_b = (unsigned)__cvta_generic_to_shared(&bs[lane % 16][warp_col + lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                     : "r"(from_a)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                     : "=r"(fb[0]), "=r"(fb[1]), "=r"(fb[2]), "=r"(fb[3])
                     : "r"(from_b)
                     : "memory");
        for (int j = 0; j < 2; ++j) {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                         : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]), "+f"(acc[j][3])
                         : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[j * 2]), "r"(fb[j * 2 + 1]));
        }
        __syncthreads();
    }
    unsigned packed[4];
    for (int j = 0; j < 2; ++j) {
        half2 top = __floats2half2_rn(acc[j][0], acc[j][1]);
        half2 bottom = __floats2half2_rn(acc[j][2], acc[j][3]);
        packed[j * 2] = *reinterpret_cast<unsigned*>(&top);
        packed[j * 2 + 1] = *reinterpret_cast<unsigned*>(&bottom);
    }
    unsigned to = (unsigned)__cvta_generic_to_shared(&cs[lane % 16][warp_col + lane / 16 * 8]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n"
                 ::"r"(to), "r"(packed[0]), "r"(packed[1]), "r"(packed[2]), "r"(packed[3])
                 : "memory");
    __syncthreads();
    int r = tid / 4;
    int q = tid % 4 * 8;
    *reinterpret_cast<uint4*>(&c[(row0 + r) * n + col0 + q]) = *reinterpret_cast<const uint4*>(&cs[r][q]);
}
