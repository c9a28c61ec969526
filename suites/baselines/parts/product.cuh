// A tile of the output per block. The batch is split in three, each part with its stride.
struct Matrices {
    const ElementA* a;
    const ElementB* b;
    long long a_pitch, a_step, b_pitch, b_step;
    int m, n, k;
};

__device__ __forceinline__ float blend(float alpha, float product, float beta, float addend) {
    // A factor of 0 leaves its part out, NaN included.
    float value = alpha == 0.0f ? 0.0f : alpha * product;
    if (beta != 0.0f) {
        value = fmaf(beta, addend, value);
    }
    return value;
}

struct alignas(2 * sizeof(T_out)) Pair {
    T_out x, y;
};

// ADDENDS: none, those of two neighbours read one by one (1) or at once (2), or what is found (3).
template <int ADDENDS>
struct Epilogue {
    const ElementC* c;
    T_out* out;
    long long c_row, c_col;
    int m, n;
    float alpha, beta;

    __device__ __forceinline__ float value(int row, int col, float sum) const {
        return ADDENDS == 0 || (ADDENDS == 3 && !c) ? sum : blend(alpha, sum, beta, kg::to_float(c[row * c_row + col * c_col]));
    }

    // Two neighbours of a row, the first in an even column. Nothing but the read is conditional, so that many are under way.
    __device__ __forceinline__ Pair two(int row, int col, float x, float y) const {
        struct alignas(2 * sizeof(ElementC)) Addends {
            ElementC at[2];
        };
        const auto place = reinterpret_cast<unsigned long long>(c) / sizeof(ElementC);
        if (ADDENDS == 2 || (ADDENDS == 3 && c && c_col == 1 && n % 2 == 0 && (place | c_row) % 2 == 0)) {
            Addends addends = {};
            if (row < m && col < n) {
                addends = *reinterpret_cast<const Addends*>(c + row * c_row + col);
            }
            x = blend(alpha, x, beta, kg::to_float(addends.at[0]));
            y = blend(alpha, y, beta, kg::to_float(addends.at[1]));
        } else if (ADDENDS > 0 && row < m) {
            x = col < n ? value(row, col, x) : x;
            y = col + 1 < n ? value(row, col + 1, y) : y;
        }
        return {kg::from_float<T_out>(x), kg::from_float<T_out>(y)};
    }

    // The same in one store where that is aligned.
    __device__ __forceinline__ void pair(int row, int col, float x, float y) const {
        if (row >= m || col >= n) {
            return;
        }
        T_out* to = out + static_cast<long long>(row) * n + col;
        const Pair both = two(row, col, x, y);
        if (n % 2 == 0) {
            *reinterpret_cast<Pair*>(to) = both;
            return;
        }
        to[0] = both.x;
        if (col + 1 < n) {
            to[1] = both.y;
        }
    }

#if TENSOR_CORES == 1
    // 32 columns of eight rows, of which tensor cores leave two columns of every eight to a lane, four sums apart.
    // They pass through shared memory, a tile of each warp, so that it stores whole pieces of rows: `row` is that of
    // the lane.
    static constexpr int PITCH = 40;  // rows of a tile lie in different banks
    using Tile = T_out[8][PITCH];
    __device__ __forceinline__ void rows(int row, int column, const float* sums, Tile& tile) const {
        const int lane = threadIdx.x % 32;
        const int x = lane % 4 * 2;
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int col = column + j * 8 + x;
            *reinterpret_cast<Pair*>(&tile[lane / 4][j * 8 + x]) = two(row, col, sums[j * 4], sums[j * 4 + 1]);
        }
        __syncwarp();
        const int first = row - lane / 4;
        if (n % 8 == 0) {
            write<8>(tile, first, column);
        } else if (n % 4 == 0) {
            write<4>(tile, first, column);
        } else if (n % 2 == 0) {
            write<2>(tile, first, column);
        } else {
            write<1>(tile, first, column);
        }
    }

    template <int EACH>
    __device__ __forceinline__ void write(const Tile& tile, int row, int column) const {
        struct alignas(EACH * sizeof(T_out)) Piece {
            T_out at[EACH];
        };
#pragma unroll
        for (int i = threadIdx.x % 32; i < 8 * 32 / EACH; i += 32) {
            const int y = i / (32 / EACH);
            const int x = i % (32 / EACH) * EACH;
            if (row + y < m && column + x < n) {
                *reinterpret_cast<Piece*>(out + static_cast<long long>(row + y) * n + column + x) =
                    *reinterpret_cast<const Piece*>(&tile[y][x]);
            }
        }
    }
#endif
};

#if TENSOR_CORES == 2
#include "product_tma.cuh"
#else
#include "tile_of.cuh"
#if TENSOR_CORES == 1
#include "product_mma.cuh"
#else
#include "product_f32.cuh"
#endif

// Rows in such pieces, or of any stride.
template <bool A_ALONG_K, bool B_ALONG_K, int BYTES>
__global__ void __launch_bounds__(N_THREADS, BLOCKS_PER_SM) product(
    const ElementA* __restrict__ a, const ElementB* __restrict__ b, const ElementC* __restrict__ c,
    T_out* __restrict__ out, int m, int n, int k, int inner, int middle, int n_batch, long long a0,
    long long a1, long long a2, long long a_pitch, long long a_step, long long b0, long long b1,
    long long b2, long long b_pitch, long long b_step, long long c_batch, long long c_row,
    long long c_col, float alpha, float beta) {
    const int batch = blockIdx.y + blockIdx.z * 65535;
    if (batch >= n_batch) {
        return;
    }
    const long long at2 = batch % inner;
    const long long at1 = batch / inner % middle;
    const long long at0 = batch / inner / middle;
    const Matrices of = {a + at0 * a0 + at1 * a1 + at2 * a2, b + at0 * b0 + at1 * b1 + at2 * b2,
                         a_pitch, a_step, b_pitch, b_step, m, n, k};
    const Epilogue<3> epilogue = {c ? c + batch * c_batch : c,
                                  out + static_cast<long long>(batch) * m * n, c_row, c_col, m, n,
                               alpha, beta};
    const int2 tile = tile_of(blockIdx.x, m, n);
    product_tile<A_ALONG_K, B_ALONG_K, BYTES>(of, tile.x, tile.y, epilogue);
}
#endif

// Products too small to fill a tile: `lanes` threads per element.
extern "C" __global__ void small_product(const ElementA* __restrict__ a, const ElementB* __restrict__ b,
        const ElementC* __restrict__ c, T_out* __restrict__ out, int m, int n, int k, int inner, int middle, int n_batch,
        long long a0, long long a1, long long a2, long long a_row, long long a_col, long long b0, long long b1,
        long long b2, long long b_row, long long b_col, long long c_batch, long long c_row,
        long long c_col, float alpha, float beta, int lanes) {
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long element = thread / lanes;
    const bool inside = element < static_cast<long long>(n_batch) * m * n;
    const int batch = inside ? element / m / n : 0;
    const int row = element / n % m;
    const int col = element % n;
    a += batch / inner / middle * a0 + batch / inner % middle * a1 + batch % inner * a2 + row * a_row;
    b += batch / inner / middle * b0 + batch / inner % middle * b1 + batch % inner * b2 + col * b_col;
    float sum = 0.0f;
    for (int l = thread % lanes; inside && l < k; l += lanes) {
        sum = fmaf(kg::to_float(a[l * a_col]), kg::to_float(b[l * b_row]), sum);
    }
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (inside && thread % lanes == 0) {
        const Epilogue<3> epilogue = {c ? c + batch * c_batch : c, out, c_row, c_col, m, n, alpha, beta};
        out[element] = kg::from_float<T_out>(epilogue.value(row, col, sum));
    }
}

// Copies matrices, a warp a row, to rows without gaps that begin at multiples of 16 bytes.
template <class T>
__global__ void __launch_bounds__(256)
align_rows(const T* __restrict__ from, T* __restrict__ to, long long n, int rows, int columns, int inner, int middle,
           long long s0, long long s1, long long s2, long long pitch, long long step, long long to_pitch) {
    constexpr int AT_ONCE = 8;
    for (long long row = blockIdx.x * 8 + threadIdx.x / 32; row < n; row += gridDim.x * 8) {
        const long long batch = row / rows;
        const T* in = from + batch / inner / middle * s0 + batch / inner % middle * s1 + batch % inner * s2
                      + row % rows * pitch;
        for (int column = threadIdx.x % 32; column < columns; column += 32 * AT_ONCE) {
            T loaded[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                if (column + i * 32 < columns) {
                    loaded[i] = in[(column + i * 32) * step];
                }
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                if (column + i * 32 < columns) {
                    to[row * to_pitch + column + i * 32] = loaded[i];
                }
            }
        }
    }
}
