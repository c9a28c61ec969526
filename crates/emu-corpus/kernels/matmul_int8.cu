#define TILE 16

// c = a * transpose(b) in int8 with int32 sums; k is a multiple of 4, four products per __dp4a.
extern "C" __global__ void matmul_dp4a(const int8_t* __restrict__ a, const int8_t* __restrict__ b,
                                       int* __restrict__ c, int m, int n, int k) {
    __shared__ int as[TILE][TILE + 1];
    __shared__ int bs[TILE][TILE + 1];
    const int* a4 = reinterpret_cast<const int*>(a);
    const int* b4 = reinterpret_cast<const int*>(b);
    int words = k / 4;
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    int b_row = blockIdx.x * TILE + ty;
    int acc = 0;
    for (int w0 = 0; w0 < words; w0 += TILE) {
        bool inside = w0 + tx < words;
        as[ty][tx] = (inside && row < m) ? a4[row * words + w0 + tx] : 0;
        bs[ty][tx] = (inside && b_row < n) ? b4[b_row * words + w0 + tx] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            acc = __dp4a(as[ty][i], bs[tx][i], acc);
        }
        __syncthreads();
    }
    if (row < m && col < n) {
        c[row * n + col] = acc;
    }
}

// c = a * transpose(b) by tensor cores, one warp per 16x8 outputs; m, n, k are multiples of 16, 8, 32.
extern "C" __global__ void mma_int8(const int8_t* __restrict__ a, const int8_t* __restrict__ b,
                                    int* __restrict__ c, int n, int k) {
    int lane = threadIdx.x;
    int group = lane / 4;
    int member = lane % 4;
    int row = blockIdx.y * 16 + group;
    int b_row = blockIdx.x * 8 + group;
    int acc[4] = {0, 0, 0, 0};
    for (int k0 = 0; k0 < k; k0 += 32) {
        int p = k0 + member * 4;
        int a0 = *reinterpret_cast<const int*>(a + row * k + p);
        int a1 = *reinterpret_cast<const int*>(a + (row + 8) * k + p);
        int a2 = *reinterpret_cast<const int*>(a + row * k + p + 16);
        int a3 = *reinterpret_cast<const int*>(a + (row + 8) * k + p + 16);
        int b0 = *reinterpret_cast<const int*>(b + b_row * k + p);
        int b1 = *reinterpret_cast<const int*>(b + b_row * k + p + 16);
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
            : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
            : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    int col = blockIdx.x * 8 + member * 2;
    c[row * n + col] = acc[0];
    c[row * n + col + 1] = acc[1];
    c[(row + 8) * n + col] = acc[2];
    c[(row + 8) * n + col + 1] = acc[3];
}
