#include <cuda_fp16.h>

#define D 16
#define TILE 16

__device__ __forceinline__ unsigned shared_address(const half* at) {
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned pack(float low, float high) {
    half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned*>(&both);
}

// Flash attention on tensor cores for head size 16: a warp per 16 queries, two warps share the tiles of
// keys and values.
extern "C" __global__ void __launch_bounds__(64)
flash_mma(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
          float* __restrict__ out, int n, float scale) {
    __shared__ alignas(16) half qs[2][16][D + 8];
    __shared__ alignas(16) half ks[TILE][D + 8];
    __shared__ alignas(16) half vs[TILE][D + 8];
    size_t head = (size_t)blockIdx.y * n * D;
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    int row0 = blockIdx.x * 32 + warp * 16;
    int load_row = lane / 2;
    int load_col = lane % 2 * 8;
    uint4 value = make_uint4(0, 0, 0, 0);
    if (row0 + load_row < n) {
        value = *reinterpret_cast<const uint4*>(&q[head + (row0 + load_row) * D + load_col]);
    }
    *reinterpret_cast<uint4*>(&qs[warp][load_row][load_col]) = value;
    __syncwarp();
    unsigned fq[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(fq[0]), "=r"(fq[1]), "=r"(fq[2]), "=r"(fq[3])
                 : "r"(shared_address(&qs[warp][lane % 16][lane / 16 * 8]))
                 : "memory");
    float acc[2][4] = {};
    float best[2] = {-1e30f, -1e30f};
    float total[2] = {0.0f, 0.0f};
    for (int k0 = 0; k0 < n; k0 += TILE) {
        uint4 loaded = make_uint4(0, 0, 0, 0);
        const half* from = warp == 0 ? k : v;
        if (k0 + load_row < n) {
            loaded = *reinterpret_cast<const uint4*>(&from[head + (k0 + load_row) * D + load_col]);
        }
        half* to = warp == 0 ? &ks[load_row][load_col] : &vs[load_row][load_col];
        *reinterpret_cast<uint4*>(to) = loaded;
        __syncthreads();
        unsigned fk[4];
        unsigned fv[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                     : "=r"(fk[0]), "=r"(fk[1]), "=r"(fk[2]), "=r"(fk[3])
                     : "r"(shared_address(&ks[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8]))
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                     : "=r"(fv[0]), "=r"(fv[1]), "=r"(fv[2]), "=r"(fv[3])
                     : "r"(shared_address(&vs[lane % 16][lane / 16 * 8]))
                     : "memory");
        float s[2][4] = {};
        mma(s[0], fq, fk[0], fk[1]);
        mma(s[1], fq, fk[2], fk[3]);
        for (int j = 0; j < 2; ++j) {
            for (int e = 0; e < 4; ++e) {
                int key = k0 + j * 8 + lane % 4 * 2 + e % 2;
                s[j][e] = key < n ? s[j][e] * scale : -1e30f;
            }
        }
        for (int h = 0; h < 2; ++h) {
            float top = fmaxf(fmaxf(s[0][h * 2], s[0][h * 2 + 1]), fmaxf(s[1][h * 2], s[1][h * 2 + 1]));
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 2));
            float next = fmaxf(best[h], top);
            float keep = __expf(best[h] - next);
            float sum = 0.0f;
            for (int j = 0; j < 2; ++j) {
                for (int e = h * 2; e < h * 2 + 2; ++e) {
                    s[j][e] = __expf(s[j][e] - next);
                    sum += s[j][e];
                    acc[j][e] *= keep;
                }
            }
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            total[h] = total[h] * keep + sum;
            best[h] = next;
        }
        unsigned fp[4];
        fp[0] = pack(s[0][0], s[0][1]);
        fp[1] = pack(s[0][2], s[0][3]);
        fp[2] = pack(s[1][0], s[1][1]);
        fp[3] = pack(s[1][2], s[1][3]);
        mma(acc[0], fp, fv[0], fv[1]);
        mma(acc[1], fp, fv[2], fv[3]);
        __syncthreads();
    }
    for (int j = 0; j < 2; ++j) {
        for (int e = 0; e < 4; ++e) {
            int row = row0 + lane / 4 + e / 2 * 8;
            int col = j * 8 + lane % 4 * 2 + e % 2;
            if (row < n) {
                out[head + row * D + col] = acc[j][e] / total[e / 2];
            }
        }
    }
}
