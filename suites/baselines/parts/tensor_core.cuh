// Byte of a chunk of 8 elements in a tile of so many rows: columns of 128 bytes, in which the chunks of a row
// are permuted by its number, so that 8 rows lie in different banks. Hardware calls it the 128-byte swizzle.
template <int ROWS>
__device__ __forceinline__ unsigned place_of(int row, int chunk) {
    return (chunk / 8 * ROWS + row) * 128 + ((chunk ^ row) & 7) * 16;
}

// Copies a tile into shared memory, 16 bytes at a time: rows of `WIDTH` elements, of which
// element (i, j) is from[(i0 + i) * pitch + (j0 + j) * step], or 0 outside of [rows, cols].
template <int ROWS, int WIDTH, bool WIDE, class T>
__device__ __forceinline__ void copy_tile(unsigned to, const T* from, int i0, int j0, int rows,
                                          int cols, long long pitch, long long step) {
    constexpr int CHUNKS = WIDTH / 8;
    static_assert(ROWS * CHUNKS % N_THREADS == 0, "all threads copy alike");
#pragma unroll
    for (int l = 0; l < ROWS * CHUNKS / N_THREADS; ++l) {
        const int at = threadIdx.x + l * N_THREADS;
        const int i = at / CHUNKS;
        const int chunk = at % CHUNKS;
        const unsigned place = to + place_of<ROWS>(i, chunk);
        const int row = i0 + i;
        const int col = j0 + chunk * 8;
        const int valid = row < rows ? max(0, min(8, cols - col)) : 0;
        if constexpr (WIDE) {
            const T* source = valid > 0 ? from + row * pitch + col : from;
            asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(place),
                         "l"(source), "r"(valid * 2)
                         : "memory");
        } else {
            unsigned short raw[8];
#pragma unroll
            for (int e = 0; e < 8; ++e) {
                raw[e] = 0;
                if (e < valid) {
                    raw[e] = __builtin_bit_cast(unsigned short, from[row * pitch + (col + e) * step]);
                }
            }
            const unsigned x = raw[0] | raw[1] << 16;
            const unsigned y = raw[2] | raw[3] << 16;
            const unsigned z = raw[4] | raw[5] << 16;
            const unsigned w = raw[6] | raw[7] << 16;
            asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(x), "r"(y),
                         "r"(z), "r"(w)
                         : "memory");
        }
    }
}

template <bool ALONG_K>
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned address) {
    if constexpr (ALONG_K) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address)
                     : "memory");
    }
}

__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0,
                                         unsigned b1) {
    #define MMA(T) "mma.sync.aligned.m16n8k16.row.col.f32." T "." T ".f32 {%0, %1, %2, %3}, "
#if BF16
    asm volatile(MMA("bf16")
#else
    asm volatile(MMA("f16")
#endif
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
