// Byte of a chunk of 8 elements in a tile of so many rows: columns of 128 bytes, in which the chunks of a row
// are permuted by its number, so that 8 rows lie in different banks. Hardware calls it the 128-byte swizzle.
template <int ROWS>
__device__ __forceinline__ unsigned place_of(int row, int chunk) {
    return (chunk / 8 * ROWS + row) * 128 + ((chunk ^ row) & 7) * 16;
}

// Copies a tile into shared memory, so many bytes at a time, all at once from 4 on: rows of `WIDTH` elements, of
// which element (i, j) is from[(i0 + i) * pitch + (j0 + j) * step], or 0 outside of [rows, cols].
template <int ROWS, int WIDTH, int BYTES, class T>
__device__ __forceinline__ void copy_tile(unsigned to, const T* from, int i0, int j0, int rows,
                                          int cols, long long pitch, long long step) {
    constexpr int EACH = BYTES == 2 ? 8 : BYTES / 2;  // elements that a thread copies
    constexpr int PIECES = WIDTH / EACH;
    constexpr int ROWS_AT_ONCE = N_THREADS / PIECES;
    static_assert(N_THREADS % PIECES == 0 && ROWS % ROWS_AT_ONCE == 0, "all threads copy alike");
    const int piece = threadIdx.x % PIECES;
    const int first = threadIdx.x / PIECES;
    const int col = j0 + piece * EACH;
    const int inside = max(0, min(EACH, cols - col));
    const T* source = from + (i0 + first) * pitch + col * step;
    auto place = [&](int i) { return to + place_of<ROWS>(i, piece * EACH / 8) + piece * EACH % 8 * 2; };
    if constexpr (BYTES > 2) {
        // Addresses of many small pieces would not stay in registers.
#pragma unroll(BYTES == 16 ? ROWS : BYTES / 2)
        for (int l = 0; l < ROWS / ROWS_AT_ONCE; ++l, source += ROWS_AT_ONCE * pitch) {
            const int i = first + l * ROWS_AT_ONCE;
            const int valid = i0 + i < rows ? inside : 0;
            const T* start = valid > 0 ? source : from;
            if constexpr (BYTES == 16) {
                asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(place(i)),
                             "l"(start), "r"(valid * 2)
                             : "memory");
            } else {
                asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(place(i)),
                             "l"(start), "n"(BYTES), "r"(valid * 2)
                             : "memory");
            }
        }
    } else {
#pragma unroll 2
        for (int l = 0; l < ROWS / ROWS_AT_ONCE; ++l, source += ROWS_AT_ONCE * pitch) {
            const int i = first + l * ROWS_AT_ONCE;
            unsigned short raw[8];
#pragma unroll
            for (int e = 0; e < 8; ++e) {
                raw[e] = 0;
                if (i0 + i < rows && e < inside) {
                    raw[e] = __builtin_bit_cast(unsigned short, source[e * step]);
                }
            }
            const unsigned x = raw[0] | raw[1] << 16;
            const unsigned y = raw[2] | raw[3] << 16;
            const unsigned z = raw[4] | raw[5] << 16;
            const unsigned w = raw[6] | raw[7] << 16;
            asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(place(i)), "r"(x), "r"(y),
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
