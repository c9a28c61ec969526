#include "convolution_points.cuh"
#include "tiles_tma.cuh"

// The product of a matrix [rows, depth] and of each image [depth, points] as it is. `output(row, image, point)` is what
// `store_sums` takes, for the tile that begins there.
template <class Output>
__device__ __forceinline__ void multiply_points(const CUtensorMap& map_w, const CUtensorMap& map_x, int n_images, int rows,
                                                int depth, int points, Output output) {
    const int tiles_m = (rows + TILE_M - 1) / TILE_M;
    const int tiles_n = (points + TILE_N - 1) / TILE_N;
    auto input = [&](long long tile) {
        const int row = tile % tiles_m * TILE_M;
        const int point = tile / tiles_m % tiles_n * TILE_N;
        const int image = tile / tiles_m / tiles_n;
        return [&, row, point, image](int step, Stage& to, uint64_t* barrier) {
            kg::tma_load(to.a, &map_w, barrier, step * DEPTH, row);
#pragma unroll
            for (int x = 0; x < TILE_N; x += 64) {
                kg::tma_load(to.b + x * DEPTH, &map_x, barrier, point + x, step * DEPTH, image);
            }
        };
    };
    auto place = [&](long long tile) {
        return output(static_cast<int>(tile % tiles_m) * TILE_M, static_cast<int>(tile / tiles_m / tiles_n),
                      static_cast<int>(tile / tiles_m % tiles_n) * TILE_N);
    };
    multiply_tiles<true, false>(static_cast<long long>(tiles_m) * tiles_n * n_images, (depth + DEPTH - 1) / DEPTH, input, place);
}

template <class T>
__global__ void __launch_bounds__(TILE_THREADS, BLOCKS_PER_SM) product_of_points(
    const __grid_constant__ CUtensorMap map_w, const __grid_constant__ CUtensorMap map_x,
    const T_out* __restrict__ bias, T* __restrict__ out, int n_images, int rows, int depth, int points) {
    multiply_points(map_w, map_x, n_images, rows, depth, points, [&](int row, int image, int point) {
        const long long first = static_cast<long long>(image) * points;
        return Points<T, true>(bias, out, rows, points, rows, row, first + point, first + points);
    });
}
