// sm_90a
#include <cuda_fp16.h>
#define KERNEL extern "C" __global__ void

// 16 x 8 sums of a sparse matrix [16][32], of which two elements of four are stored, and w[8][32].
KERNEL mma_sparse(const __half* __restrict__ x, const unsigned* __restrict__ meta, const __half* __restrict__ w,
                  float* __restrict__ y) {
    int lane = threadIdx.x;
    int g = lane / 4;
    int t = lane % 4;
    const unsigned* a = (const unsigned*)(x + 256 * blockIdx.x);
    const unsigned* b = (const unsigned*)w;
    unsigned a0 = a[g * 8 + t];
    unsigned a1 = a[(g + 8) * 8 + t];
    unsigned a2 = a[g * 8 + t + 4];
    unsigned a3 = a[(g + 8) * 8 + t + 4];
    unsigned e;
    if (t < 2) {
        e = meta[16 * blockIdx.x + 2 * g + t];
    }
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b[g * 16 + t]), "r"(b[g * 16 + t + 4]),
                   "r"(b[g * 16 + t + 8]), "r"(b[g * 16 + t + 12]), "r"(e));
    float* out = y + 128 * blockIdx.x;
    out[g * 8 + 2 * t] = d[0];
    out[g * 8 + 2 * t + 1] = d[1];
    out[(g + 8) * 8 + 2 * t] = d[2];
    out[(g + 8) * 8 + 2 * t + 1] = d[3];
}
