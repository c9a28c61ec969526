// Rows of tiles in groups, so that the tiles in flight share rows and columns in the L2 cache.
template <int HEIGHT = TILE_M, int WIDTH = TILE_N>
__device__ __forceinline__ int2 tile_of(int block, int m, int n) {
    constexpr int GROUP = 8;
    const int tiles_m = (m + HEIGHT - 1) / HEIGHT;
    const int tiles_n = (n + WIDTH - 1) / WIDTH;
    const int first = block / (GROUP * tiles_n) * GROUP;
    const int height = min(GROUP, tiles_m - first);
    const int within = block % (GROUP * tiles_n);
    return {(first + within % height) * HEIGHT, within / height * WIDTH};
}
