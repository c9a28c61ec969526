// A convolution as products of matrices, one per group: rows are output channels, columns are output points of
// all images, k runs over input channels and taps. The second factor is gathered from the input.
struct Convolution {
    int images, groups, channels, depth;  // channels and depth are of one group
    long long row_step;                   // of the weights
    int in_z, in_y, in_x, kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x;
    int padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, out_z, out_y, out_x;
};

// How the input is read: windows in one or two dimensions, in three, or its points as they are.
enum class Input { PLANES, VOLUMES, POINTS };

constexpr int OUTSIDE = -(1 << 30);  // of every input, with any offset added
constexpr int TABLE = 256;           // entries of the table of taps

// A place of k: where it lies from the corner of a window, the offset in bytes.
struct alignas(16) Tap {
    int offset, z, y, x;
};

// A tile of the output that a block computes, or its part of k.
struct Tile {
    int group, row0, column0, columns, k_first, k_end;
};

__device__ __forceinline__ void fill_table(Tap* table, const Convolution& of, int k0, int k_end) {
    for (int i = threadIdx.x; i < TABLE; i += blockDim.x) {
        const int k = k0 + i;
        const int x = k % of.kernel_x * of.dilation_x;
        const int y = k / of.kernel_x % of.kernel_y * of.dilation_y;
        const int zc = k / of.kernel_x / of.kernel_y;
        const int z = zc % of.kernel_z * of.dilation_z;
        const int channel = zc / of.kernel_z;
        const int offset = ((channel * of.in_z + z) * of.in_y + y) * of.in_x + x;
        table[i] = {offset * static_cast<int>(sizeof(T_input)), z, y, k < k_end ? x : OUTSIDE};
    }
}

// The window of an output point; none beyond the last column.
struct Window {
    const T_input* corner;
    int z, y, x;

    __device__ __forceinline__ Window(const T_input* input, const Convolution& of, const Tile& tile, int column) {
        const int points = of.out_z * of.out_y * of.out_x;
        const int image = column / points;
        const int point = column % points;
        x = point % of.out_x * of.stride_x - of.padding_x;
        y = point / of.out_x % of.out_y * of.stride_y - of.padding_y;
        z = point / of.out_x / of.out_y * of.stride_z - of.padding_z;
        const long long plane = (static_cast<long long>(image) * of.groups + tile.group) * of.depth;
        corner = input + plane * of.in_z * of.in_y * of.in_x + (z * of.in_y + y) * of.in_x + x;
        if (column >= tile.columns) {
            x = OUTSIDE;
        }
    }

    __device__ __forceinline__ const T_input* at(const Tap& tap) const {
        return reinterpret_cast<const T_input*>(reinterpret_cast<const char*>(corner) + tap.offset);
    }

    template <Input INPUT>
    __device__ __forceinline__ bool meets(const Tap& tap, const Convolution& of) const {
        const bool inside = static_cast<unsigned>(y + tap.y) < of.in_y && static_cast<unsigned>(x + tap.x) < of.in_x;
        return inside && (INPUT == Input::PLANES || static_cast<unsigned>(z + tap.z) < of.in_z);
    }
};

// Takes sums of a tile: outputs, or a part of k for `sum_of_parts`, without bias.
struct Outputs {
    const T_out* bias;
    T_out* out;
    float* part;  // null where k is whole
    int channels, points, row_end, columns;  // channels of all groups

    // ROWS rows of WIDTH neighbours, the first column a multiple of WIDTH.
    template <int ROWS, int WIDTH>
    __device__ __forceinline__ void operator()(int row, int column, const float (&sums)[ROWS][WIDTH]) const {
        if (part) {
            store(part, row, column, sums);
        } else {
            store(out, row, column, sums);
        }
    }

    template <class T, int ROWS, int WIDTH>
    __device__ __forceinline__ void store(T* all, int row, int column, const float (&sums)[ROWS][WIDTH]) const {
        struct alignas(sizeof(T) * WIDTH) Pack {
            T at[WIDTH];
        };
        Pack packs[ROWS];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const float offset = bias && row + i < row_end ? kg::to_float(bias[row + i]) : 0.0f;
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) {
                packs[i].at[j] = kg::from_float<T>(sums[i][j] + offset);
            }
        }
        const bool together = points % WIDTH == 0;
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) {
            const int at = column + j;
            T* to = all + (static_cast<long long>(at / points) * channels + row) * points + at % points;
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                if (row + i < row_end && at < columns) {
                    if (together) {
                        *reinterpret_cast<Pack*>(to + static_cast<long long>(i) * points) = packs[i];
                    } else {
                        to[static_cast<long long>(i) * points] = packs[i].at[j];
                    }
                }
            }
            if (together) {
                break;
            }
        }
    }
};

// A copy that is not inside reads nothing and gives zeros.
template <int BYTES>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool inside) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "n"(BYTES), "r"(inside ? BYTES : 0)
                 : "memory");
}

#if TENSOR_CORES
#include "convolution_mma.cuh"
#else
#include "convolution_fma.cuh"
#endif

// blockIdx.y is the part of k.
template <int TILE_M, int TILE_N, int THREADS, Input INPUT>
__global__ void __launch_bounds__(THREADS, 512 / THREADS) implicit_product(
    const T_input* __restrict__ input, const T_weight* __restrict__ weight, const T_out* __restrict__ bias,
    T_out* __restrict__ out, float* __restrict__ parts, long long count, int k_per_part, int images, int groups,
    int channels, int depth, long long row_step, int in_z, int in_y, int in_x, int kernel_z, int kernel_y,
    int kernel_x, int stride_z, int stride_y, int stride_x, int padding_z, int padding_y, int padding_x,
    int dilation_z, int dilation_y, int dilation_x, int out_z, int out_y, int out_x) {
    const Convolution of{images, groups, channels, depth, row_step, in_z, in_y, in_x,
                         kernel_z, kernel_y, kernel_x, stride_z, stride_y, stride_x,
                         padding_z, padding_y, padding_x, dilation_z, dilation_y, dilation_x, out_z, out_y, out_x};
    const int points = out_z * out_y * out_x;
    const int k = depth * kernel_z * kernel_y * kernel_x;
    // Neighbouring blocks have the same columns, which they then find in the L2 cache.
    const int tiles_m = (channels + TILE_M - 1) / TILE_M;
    const int tiles_n = (points * images + TILE_N - 1) / TILE_N;
    const int block = blockIdx.x / tiles_m;
    const int k_first = blockIdx.y * k_per_part;
    const Tile tile{block / tiles_n, static_cast<int>(blockIdx.x % tiles_m) * TILE_M, block % tiles_n * TILE_N,
                    points * images, k_first, min(k, k_first + k_per_part)};
    const Outputs outputs{parts ? nullptr : bias, out, parts ? parts + blockIdx.y * count : nullptr, groups * channels,
                          points, (tile.group + 1) * channels, tile.columns};
    multiply_tile<TILE_M, TILE_N, THREADS, INPUT>(input, weight, of, tile, outputs);
}

extern "C" __global__ void __launch_bounds__(256) sum_of_parts(
    const float* __restrict__ parts, const T_out* __restrict__ bias, T_out* __restrict__ out, long long count,
    int n_parts, int channels, int points) {
    const long long at = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
    if (at < count) {
        float whole = bias ? kg::to_float(bias[at / points % channels]) : 0.0f;
        for (int part = 0; part < n_parts; ++part) {
            whole += parts[part * count + at];
        }
        out[at] = kg::from_acc<T_out>(whole);
    }
}
