constexpr int N_THREADS = 256;
constexpr int BLOCKS_PER_SM = 2;
constexpr int DEPTH = TILE_M == 128 ? 8 : 16;  // of a tile along k
constexpr int PIECE = TILE_M / 16;             // outputs per thread and axis; 16 x 16 threads
constexpr int HALF = PIECE / 2;

// Loads a tile and stores it as [k][x]: four elements per load where they are neighbours.
template <bool ALONG_K, int BYTES, class T>
struct Loader {
    static constexpr int VEC = BYTES / 4;
    static constexpr int N_LOADS = TILE_M * DEPTH / VEC / N_THREADS;
    struct alignas(sizeof(T) * VEC) Pack {
        T at[VEC];
    };
    Pack next[N_LOADS];

    __device__ __forceinline__ void fetch(const T* from, int x0, int k0, int extent, int depth,
                                          long long pitch, long long step) {
#pragma unroll
        for (int i = 0; i < N_LOADS; ++i) {
            const int at = (threadIdx.x + i * N_THREADS) * VEC;
            const int x = x0 + (ALONG_K ? at / DEPTH : at % TILE_M);
            const int k = k0 + (ALONG_K ? at % DEPTH : at / TILE_M);
            const long long place = ALONG_K ? x * pitch + k * step : k * pitch + x * step;
            if (x < extent && k < depth) {
                next[i] = *reinterpret_cast<const Pack*>(from + place);
            } else {
                next[i] = Pack{};
            }
        }
    }

    template <int WIDTH>
    __device__ __forceinline__ void store(float (&to)[DEPTH][WIDTH]) const {
#pragma unroll
        for (int i = 0; i < N_LOADS; ++i) {
            const int at = (threadIdx.x + i * N_THREADS) * VEC;
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                const float value = kg::to_float(next[i].at[j]);
                if (ALONG_K) {
                    to[at % DEPTH + j][at / DEPTH] = value;
                } else {
                    to[at / TILE_M][at % TILE_M + j] = value;
                }
            }
        }
    }
};

template <bool A_ALONG_K, bool B_ALONG_K, int BYTES>
__device__ __forceinline__ void product_tile(const Matrices& of, int row0, int col0,
                                             const Epilogue<3>& epilogue) {
    // Each thread's piece is made of four corners, so that its reads are 16 bytes and a warp's
    // reads touch all banks. The padding keeps transposing stores apart.
    __shared__ __align__(16) float tile_a[2][DEPTH][TILE_M + 4];
    __shared__ __align__(16) float tile_b[2][DEPTH][TILE_M + 4];
    const int ty = threadIdx.x / 16;
    const int tx = threadIdx.x % 16;
    Loader<A_ALONG_K, BYTES, ElementA> a;
    Loader<B_ALONG_K, BYTES, ElementB> b;
    auto fetch = [&](int k0) {
        a.fetch(of.a, row0, k0, of.m, of.k, of.a_pitch, of.a_step);
        b.fetch(of.b, col0, k0, of.n, of.k, of.b_pitch, of.b_step);
    };
    auto store = [&](int buffer) {
        a.store(tile_a[buffer]);
        b.store(tile_b[buffer]);
    };

    float sum[PIECE][PIECE] = {};
    fetch(0);
    store(0);
    __syncthreads();
    int buffer = 0;
    for (int k0 = 0; k0 < of.k; k0 += DEPTH) {
        const bool more = k0 + DEPTH < of.k;
        if (more) {
            fetch(k0 + DEPTH);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            float column[PIECE];
            float row[PIECE];
#pragma unroll
            for (int i = 0; i < HALF; ++i) {
                column[i] = tile_a[buffer][d][ty * HALF + i];
                column[HALF + i] = tile_a[buffer][d][TILE_M / 2 + ty * HALF + i];
                row[i] = tile_b[buffer][d][tx * HALF + i];
                row[HALF + i] = tile_b[buffer][d][TILE_M / 2 + tx * HALF + i];
            }
#pragma unroll
            for (int i = 0; i < PIECE; ++i) {
#pragma unroll
                for (int j = 0; j < PIECE; ++j) {
                    sum[i][j] = fmaf(column[i], row[j], sum[i][j]);
                }
            }
        }
        if (more) {
            // The other buffer was last read before the previous barrier.
            buffer ^= 1;
            store(buffer);
            __syncthreads();
        }
    }

#pragma unroll
    for (int i = 0; i < PIECE; ++i) {
        const int row = row0 + (i < HALF ? ty * HALF + i : TILE_M / 2 + ty * HALF + i - HALF);
#pragma unroll
        for (int j = 0; j < PIECE; j += 2) {
            const int col = col0 + (j < HALF ? tx * HALF + j : TILE_M / 2 + tx * HALF + j - HALF);
            epilogue.pair(row, col, sum[i][j], sum[i][j + 1]);
        }
    }
}
