// Baseline of mm: f32 multiply-adds from double-buffered shared memory, an 8x8 or 4x4 piece of the
// output per thread, the next tile of the inputs in flight while the current one is used.
/*@plan
# Rows may lie apart, elements of a row must not.
a = self if self.stride[1] == 1 else contiguous(self)
b = mat2 if mat2.stride[1] == 1 else contiguous(mat2)
m, k = a.shape
n = b.shape[1]
lda, ldb = a.stride[0], b.stride[0]

tile = 128 if cdiv(m, 128) * cdiv(n, 128) >= sm_count else 64
define("TILE", tile)
aligned = a.align >= 4 * a.itemsize and b.align >= 4 * b.itemsize
packed = aligned and k % 4 == 0 and n % 4 == 0 and lda % 4 == 0 and ldb % 4 == 0
define("VEC", 4 if packed else 1)

# Tiles along m in x, which has no limit to speak of; more than 65535 of them along n never fit.
launch("mm", grid=(cdiv(m, tile), cdiv(n, tile)), block=256, args=[a, b, out, m, n, k, lda, ldb])
@*/

constexpr int DEPTH = TILE == 128 ? 8 : 16;  // of a tile along k
constexpr int PIECE = TILE / 16;             // outputs per thread and axis; 16 x 16 threads
constexpr int HALF = PIECE / 2;
constexpr int N_LOADS = TILE * DEPTH / VEC / 256;

constexpr int STORE = VEC < HALF ? VEC : HALF;

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
    T at[N];
};

template <class T>
__device__ __forceinline__ Pack<T, VEC> load(const T* from, bool inside) {
    Pack<T, VEC> pack;
    if (inside) {
        pack = *reinterpret_cast<const Pack<T, VEC>*>(from);
    } else {
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            pack.at[j] = kg::from_float<T>(0.0f);
        }
    }
    return pack;
}

extern "C" __global__ void __launch_bounds__(256, VEC == 1 ? 1 : 2)
mm(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ out, int m,
   int n, int k, long long lda, long long ldb) {
    // Each thread's piece is made of four corners, so that its reads are 16 bytes and a warp's
    // reads touch all banks. The padding keeps the transposing stores of `a` apart.
    __shared__ __align__(16) float tile_a[2][DEPTH][TILE + 4];
    __shared__ __align__(16) float tile_b[2][DEPTH][TILE];
    const int row0 = blockIdx.x * TILE;
    const int col0 = blockIdx.y * TILE;
    const int ty = threadIdx.x / 16;
    const int tx = threadIdx.x % 16;

    Pack<T_self, VEC> next_a[N_LOADS];
    Pack<T_mat2, VEC> next_b[N_LOADS];
    auto fetch = [&](int k0) {
#pragma unroll
        for (int i = 0; i < N_LOADS; ++i) {
            const int at = (threadIdx.x + i * 256) * VEC;
            const int row = row0 + at / DEPTH;
            const int depth_a = k0 + at % DEPTH;
            next_a[i] = load(a + row * lda + depth_a, row < m && depth_a < k);
            const int depth_b = k0 + at / TILE;
            const int col = col0 + at % TILE;
            next_b[i] = load(b + depth_b * ldb + col, depth_b < k && col < n);
        }
    };
    auto store = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < N_LOADS; ++i) {
            const int at = (threadIdx.x + i * 256) * VEC;
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                tile_a[buffer][at % DEPTH + j][at / DEPTH] = kg::to_float(next_a[i].at[j]);
                tile_b[buffer][at / TILE][at % TILE + j] = kg::to_float(next_b[i].at[j]);
            }
        }
    };

    float sum[PIECE][PIECE] = {};
    fetch(0);
    store(0);
    __syncthreads();
    int buffer = 0;
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        const bool more = k0 + DEPTH < k;
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
                column[HALF + i] = tile_a[buffer][d][TILE / 2 + ty * HALF + i];
                row[i] = tile_b[buffer][d][tx * HALF + i];
                row[HALF + i] = tile_b[buffer][d][TILE / 2 + tx * HALF + i];
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
        const int row = row0 + (i < HALF ? ty * HALF + i : TILE / 2 + ty * HALF + i - HALF);
        if (row >= m) {
            continue;
        }
#pragma unroll
        for (int j = 0; j < PIECE; j += STORE) {
            const int col = col0 + (j < HALF ? tx * HALF + j : TILE / 2 + tx * HALF + j - HALF);
            if (col < n) {
                Pack<T_out, STORE> pack;
#pragma unroll
                for (int l = 0; l < STORE; ++l) {
                    pack.at[l] = kg::from_float<T_out>(sum[i][j + l]);
                }
                T_out* to = out + static_cast<long long>(row) * n + col;
                *reinterpret_cast<Pack<T_out, STORE>*>(to) = pack;
            }
        }
    }
}
