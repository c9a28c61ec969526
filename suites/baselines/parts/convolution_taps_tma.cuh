#include "points_tma.cuh"

#if APART
// Takes products of a tile, each of which is an output: rows are taps of channels, columns are points of an image.
struct Placed {
    const T_out* bias;
    T_out* out;  // of the image
    int rows, points, row0, point0;
    int in_y, in_x, kernel_z, kernel_y, kernel_x, padding_z, padding_y, padding_x, out_z, out_y, out_x;

    __device__ __forceinline__ void operator()(int row, int column, const float* sums) const {
        row += row0;
        const int tap_x = row % kernel_x - padding_x;
        const int tap_y = row / kernel_x % kernel_y - padding_y;
        const int tap_z = row / kernel_x / kernel_y % kernel_z - padding_z;
        const int channel = row / kernel_x / kernel_y / kernel_z;
        T_out* of_channel = out + static_cast<long long>(channel) * out_z * out_y * out_x;
        const float offset = bias && row < rows ? kg::to_float(bias[channel]) : 0.0f;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int point = point0 + column + j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2;
            const int x = point % in_x * kernel_x + tap_x;
            const int y = point / in_x % in_y * kernel_y + tap_y;
            const int z = point / in_x / in_y * kernel_z + tap_z;
            const bool inside = x >= 0 && x < out_x && y >= 0 && y < out_y && z >= 0 && z < out_z;
            if (row < rows && point < points && inside) {
                of_channel[(z * out_y + y) * out_x + x] = kg::from_acc<T_out>(sums[j / 2 * 4 + j % 2] + offset);
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(TILE_THREADS, BLOCKS_PER_SM) outputs_of_taps(
    const __grid_constant__ CUtensorMap map_w, const __grid_constant__ CUtensorMap map_x,
    const T_out* __restrict__ bias, T_out* __restrict__ out, int n_images, int rows, int depth, int points,
    int in_y, int in_x, int kernel_z, int kernel_y, int kernel_x, int padding_z, int padding_y, int padding_x,
    int out_z, int out_y, int out_x) {
    const long long of_image = static_cast<long long>(rows / (kernel_z * kernel_y * kernel_x)) * out_z * out_y * out_x;
    multiply_points(map_w, map_x, n_images, rows, depth, points, [&](int row, int image, int point) {
        return Placed{bias, out + image * of_image, rows, points, row, point, in_y, in_x,
                      kernel_z, kernel_y, kernel_x, padding_z, padding_y, padding_x, out_z, out_y, out_x};
    });
}
#endif
