// Rows of tiles in groups, so that the tiles in flight share rows and columns in the L2 cache.
__device__ __forceinline__ int2 tile_of(int block, int m, int n) {
    constexpr int GROUP = 8;
    const int tiles_m = (m + TILE_M - 1) / TILE_M;
    const int tiles_n = (n + TILE_N - 1) / TILE_N;
    const int first = block / (GROUP * tiles_n) * GROUP;
    const int height = min(GROUP, tiles_m - first);
    const int within = block % (GROUP * tiles_n);
    return {(first + within % height) * TILE_M, within / height * TILE_N};
}
