// Baseline of scaled_mm. On Hopper both factors are widened to f16, which holds every fp8 number, and tensor cores sum
// in f32: those of fp8 keep 14 bits of a sum, which is less than the op asks for. Elsewhere a thread per element.
/*@plan
m, k = self.shape
n = mat2.shape[1]
a_each = scale_a.stride[0] if scale_a.ndim == 2 and m > 1 else 0
b_each = scale_b.stride[1] if scale_b.ndim == 2 and n > 1 else 0
bias_each = 0
if has(bias):
    bias_each = bias.stride[0]
if define("TENSOR_CORES", cc == 90 and m * n > 64 and k > 0):
    n_batch, can_split = 1, False
    #include "product_tiles.plan"
    define("TILE_M", tile_m)
    define("TILE_N", tile_n)
    pitch = align_up(k, 8)
    a, b = scratch(2 * m * pitch), scratch(2 * n * pitch)
    launch("widen<T_self>", grid=min(cdiv(m, 8), 16 * sm_count), block=256,
           args=[self, a, m, k, self.stride[0], self.stride[1], pitch])
    launch("widen<T_mat2>", grid=min(cdiv(n, 8), 16 * sm_count), block=256,
           args=[mat2, b, n, k, mat2.stride[1], mat2.stride[0], pitch])
    map_a = tensor_map(a, dtype="f16", shape=[1, m, k], strides=[m * pitch, pitch, 1], box=[1, 64, 64], swizzle=128, l2=256)
    map_b = tensor_map(b, dtype="f16", shape=[1, n, k], strides=[n * pitch, pitch, 1], box=[1, 64, 64], swizzle=128, l2=256)
    boxes = n % 8 == 0 and out.itemsize == 2
    map_out = tensor_map(out, shape=[1, m, n], strides=[m * n, n, 1], box=[1, 16, 64], swizzle=128) if boxes else map_a
    launch("scaled_mm_by_boxes", grid=grid, block=128 + 2 * tile_m, cluster=(cluster, 1, 1), pdl=True,
           smem=stages * (tile_m + tile_n) * 128 + tile_m * 256,
           args=[map_a, map_b, map_out, scale_a, scale_b, bias, out, m, n, k, n_halved, boxes, a_each, b_each, bias_each])
else:
    launch("scaled_mm", grid=cdiv(out.numel, 256), block=256,
           args=[self, mat2, scale_a, scale_b, bias, out, out.numel, n, k, self.stride[0],
                 self.stride[1], mat2.stride[0], mat2.stride[1], a_each, b_each, bias_each])
@*/

struct Scales {
    const float *a, *b;
    const T_bias* bias;
    long long a_each, b_each, bias_each;
    // The conversion to an fp8 type saturates.
    __device__ __forceinline__ T_out operator()(float sum, long long row, int column) const {
        float value = sum * a[row * a_each] * b[column * b_each];
        if (bias) {
            value += kg::to_float(bias[column * bias_each]);
        }
        return kg::from_float<T_out>(value);
    }
};

#if TENSOR_CORES
#define BF16 0
#include "product_tiles.cuh"

// Rows of f16, a warp each.
template <class T>
__global__ void __launch_bounds__(256) widen(const T* __restrict__ from, __half* __restrict__ to, int rows, int columns,
                                             long long row_step, long long step, int pitch) {
    struct alignas(8) Bytes {
        T at[8];
    };
    struct alignas(16) Halves {
        __half at[8];
    };
    const bool whole = step == 1 && (reinterpret_cast<unsigned long long>(from) | row_step) % 8 == 0;
    const int lane = threadIdx.x % 32;
    for (long long row = blockIdx.x * 8 + threadIdx.x / 32; row < rows; row += gridDim.x * 8) {
        const T* in = from + row * row_step;
        const int packs = whole ? columns / 8 : 0;
#pragma unroll 4
        for (int i = lane; i < packs; i += 32) {
            const Bytes bytes = reinterpret_cast<const Bytes*>(in)[i];
            Halves halves;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                halves.at[j] = __float2half(kg::to_float(bytes.at[j]));
            }
            reinterpret_cast<Halves*>(to + row * pitch)[i] = halves;
        }
#pragma unroll 4
        for (int column = packs * 8 + lane; column < columns; column += 32) {
            to[row * pitch + column] = __float2half(kg::to_float(in[column * step]));
        }
    }
}

extern "C" __global__ void __launch_bounds__(TILE_THREADS, BLOCKS_PER_SM)
scaled_mm_by_boxes(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                   const __grid_constant__ CUtensorMap map_out, const float* __restrict__ scale_a,
                   const float* __restrict__ scale_b, const T_bias* __restrict__ bias, T_out* __restrict__ out, int m,
                   int n, int k, int n_halved, bool store_boxes, long long a_each, long long b_each, long long bias_each) {
    struct alignas(2 * sizeof(T_out)) Pair {
        T_out x, y;
    };
    const Scales scales = {scale_a, scale_b, bias, a_each, b_each, bias_each};
    kg::dependency_wait();
    multiply_boxes<true, true>(map_a, map_b, k, Tiling{m, n, 1, n_halved}, [&](const Place& place) {
        if constexpr (sizeof(T_out) == 2) {
            // Outside of the output others are computed.
            auto finish = [=](int row, int col, float x, float y) {
                row = min(row, m - 1);
                return Pair{scales(x, row, min(col, n - 1)), scales(y, row, min(col + 1, n - 1))};
            };
            return TileStore<decltype(finish)>{finish, store_boxes ? &map_out : nullptr, out, tile_buffers(), place, m, n};
        } else {
            return [=](int row, int column, const float* sums) {
                row += place.row;
                column += place.column + threadIdx.x % 4 * 2;
                T_out* to = out + static_cast<long long>(row) * n + column;
#pragma unroll
                for (int j = 0; j < 16; ++j) {
                    const int x = j / 4 * 8 + j % 4;
                    if (j % 4 < 2 && row < m && column + x < n && column + x < place.column + place.width) {
                        to[x] = scales(sums[j], row, column + x);
                    }
                }
            };
        }
    });
}
#else
extern "C" __global__ void scaled_mm(
    const T_self* __restrict__ a, const T_mat2* __restrict__ b, const float* __restrict__ scale_a,
    const float* __restrict__ scale_b, const T_bias* __restrict__ bias, T_out* __restrict__ out,
    long long count, int n, int k, long long a_row, long long a_column, long long b_row,
    long long b_column, long long a_each, long long b_each, long long bias_each) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long row = i / n;
    const int column = i % n;
    float sum = 0.0f;
    for (int l = 0; l < k; ++l) {
        const T_self x = a[row * a_row + l * a_column];
        sum = fmaf(kg::to_float(x), kg::to_float(b[l * b_row + column * b_column]), sum);
    }
    out[i] = Scales{scale_a, scale_b, bias, a_each, b_each, bias_each}(sum, row, column);
}
#endif
