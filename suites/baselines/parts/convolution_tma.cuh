#include "channels_last.cuh"
#include "points_tma.cuh"

// k runs over the taps of the filter and, in chunks of 64, over the channels.
template <int DIMS, bool EIGHTS>
__global__ void __launch_bounds__(TILE_THREADS, BLOCKS_PER_SM) convolution_by_boxes(
    const __grid_constant__ CUtensorMap map_w, const __grid_constant__ CUtensorMap map_x,
    const T_out* __restrict__ bias, T_out* __restrict__ out, int n_images, int channels, int chunks,
    int kernel_z, int kernel_y, int kernel_x, int stride_z, int stride_y, int stride_x,
    int padding_z, int padding_y, int padding_x, int dilation_z, int dilation_y, int dilation_x,
    int out_z, int out_y, int out_x) {
    const int tiles_m = (channels + TILE_M - 1) / TILE_M;
    const int points = out_z * out_y * out_x;
    const long long columns = static_cast<long long>(points) * n_images;
    auto input = [&](long long tile) {
        const int row = tile % tiles_m * TILE_M;
        const long long column = tile / tiles_m * TILE_N;
        const int image = column / points;
        const int point = column % points;
        const int x = point % out_x * stride_x - padding_x;
        const int y = point / out_x % out_y * stride_y - padding_y;
        const int z = point / out_x / out_y * stride_z - padding_z;
        return [&, row, image, x, y, z](int step, Stage& to, uint64_t* barrier) {
            const int tap = step / chunks;
            const int channel = step % chunks * DEPTH;
            kg::tma_load(to.a, &map_w, barrier, channel, tap, row);
            const unsigned short tap_x = tap % kernel_x * dilation_x;
            const unsigned short tap_y = tap / kernel_x % kernel_y * dilation_y;
            if constexpr (DIMS == 3) {
                const unsigned short tap_z = tap / kernel_x / kernel_y * dilation_z;
                kg::tma_load_im2col(to.b, &map_x, barrier, channel, x, y, z, image, tap_x, tap_y, tap_z);
            } else {
                kg::tma_load_im2col(to.b, &map_x, barrier, channel, x, y, image, tap_x, tap_y);
            }
        };
    };
    auto output = [&](long long tile) {
        return Points<T_out, EIGHTS>(bias, out, channels, points, channels, static_cast<int>(tile % tiles_m * TILE_M),
                                     tile / tiles_m * TILE_N, columns);
    };
    multiply_tiles<true, true>(tiles_m * ((columns + TILE_N - 1) / TILE_N), kernel_z * kernel_y * kernel_x * chunks,
                               input, output);
}
