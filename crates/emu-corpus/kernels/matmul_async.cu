#define BM 32
#define BN 32
#define BK 16

// Copies 16 bytes to shared memory, or zeros where the source is outside of the matrix.
__device__ __forceinline__ void copy16(float* dst, const float* src, bool inside) {
    unsigned to = (unsigned)__cvta_generic_to_shared(dst);
    int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(src), "r"(bytes) : "memory");
}

__device__ __forceinline__ void commit() {
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}

template <int N>
__device__ __forceinline__ void wait_group() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
}

__device__ __forceinline__ void load_tiles(float (*as)[BK], float (*bs)[BN], const float* a,
                                           const float* b, int k0, int m, int n, int k) {
    for (int i = threadIdx.x; i < BM * BK / 4; i += blockDim.x) {
        int r = i / (BK / 4);
        int p = i % (BK / 4) * 4;
        int row = blockIdx.y * BM + r;
        bool inside = row < m && k0 + p < k;
        copy16(&as[r][p], inside ? a + row * k + k0 + p : a, inside);
    }
    for (int i = threadIdx.x; i < BK * BN / 4; i += blockDim.x) {
        int p = i / (BN / 4);
        int q = i % (BN / 4) * 4;
        int col = blockIdx.x * BN + q;
        bool inside = k0 + p < k && col < n;
        copy16(&bs[p][q], inside ? b + (k0 + p) * n + col : b, inside);
    }
}

// c = a * b with two stages: a tile is copied while the one before it is multiplied.
// 64 threads of 4x4 outputs; n and k are multiples of 4.
extern "C" __global__ void __launch_bounds__(64)
sgemm_async_2(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ alignas(16) float as[2][BM][BK];
    __shared__ alignas(16) float bs[2][BK][BN];
    int tx = threadIdx.x % 8;
    int ty = threadIdx.x / 8;
    float acc[4][4] = {};
    int tiles = (k + BK - 1) / BK;
    load_tiles(as[0], bs[0], a, b, 0, m, n, k);
    commit();
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) {
            load_tiles(as[(t + 1) % 2], bs[(t + 1) % 2], a, b, (t + 1) * BK, m, n, k);
        }
        commit();
        wait_group<1>();
        __syncthreads();
        for (int kk = 0; kk < BK; ++kk) {
            for (int i = 0; i < 4; ++i) {
                for (int j = 0; j < 4; ++j) {
                    acc[i][j] = fmaf(as[t % 2][ty * 4 + i][kk], bs[t % 2][kk][tx * 4 + j], acc[i][j]);
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        int row = blockIdx.y * BM + ty * 4 + i;
        int col = blockIdx.x * BN + tx * 4;
        if (row < m && col < n) {
            *reinterpret_cast<float4*>(&c[row * n + col]) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        }
    }
}
