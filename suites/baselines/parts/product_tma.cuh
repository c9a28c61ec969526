#include "tiles_tma.cuh"

// Starts copying a tile: one box if its rows run along k, else one for every 64 columns.
template <bool ALONG_K, int EXTENT>
__device__ __forceinline__ void copy_boxes(unsigned short* to, const CUtensorMap* map, uint64_t* barrier,
                                           int x0, int k0, int batch) {
    if constexpr (ALONG_K) {
        kg::tma_load(to, map, barrier, k0, x0, batch);
    } else {
#pragma unroll
        for (int x = 0; x < EXTENT; x += 64) {
            kg::tma_load(to + x * DEPTH, map, barrier, x0 + x, k0, batch);
        }
    }
}

template <bool A_ALONG_K, bool B_ALONG_K>
__global__ void __launch_bounds__(TILE_THREADS, BLOCKS_PER_SM)
product_by_boxes(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                 const ElementC* __restrict__ c, T_out* __restrict__ out, float* __restrict__ partial, int m, int n,
                 int k, int n_batch, long long c_batch, long long c_row, long long c_col, float alpha,
                 float beta) {
    const int tiles = (m + TILE_M - 1) / TILE_M * ((n + TILE_N - 1) / TILE_N);
    auto input = [&](long long at) {
        const int2 tile = tile_of(at % tiles, m, n);
        const int batch = at / tiles;
        return [&, tile, batch](int step, Stage& to, uint64_t* barrier) {
            copy_boxes<A_ALONG_K, TILE_M>(to.a, &map_a, barrier, tile.x, step * DEPTH, batch);
            copy_boxes<B_ALONG_K, TILE_N>(to.b, &map_b, barrier, tile.y, step * DEPTH, batch);
        };
    };
    __shared__ __align__(16) Epilogue::Tile space[TILE_THREADS / 32];
    // Behind long products whole rows cost more than they save.
    const bool by_rows = k <= 256 || n % 2 == 1;
    auto output = [&](long long at) {
        const int2 tile = tile_of(at % tiles, m, n);
        const int batch = at / tiles;
        const Epilogue epilogue = {c ? c + batch * c_batch : c, out + static_cast<long long>(batch) * m * n,
                                   c_row, c_col, m, n, alpha, beta};
        // Tiles inside of the output are stored without further questions.
        const bool inside = !c && n % 2 == 0 && tile.x + TILE_M <= m && tile.y + TILE_N <= n;
        return [=](int row, int column, const float* sums) {
            row += tile.x;
            if (partial) {
                column += tile.y + threadIdx.x % 4 * 2;
                float* to = partial + (static_cast<long long>(batch) * m + row) * n + column;
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    if (row < m && column + j * 8 < n) {
                        *reinterpret_cast<float2*>(to + j * 8) = {sums[j * 4], sums[j * 4 + 1]};
                    }
                }
                return;
            }
            if (by_rows) {
                epilogue.rows(row, column + tile.y, sums, space[threadIdx.x / 32]);
                return;
            }
            column += tile.y + threadIdx.x % 4 * 2;
            T_out* to = epilogue.out + static_cast<long long>(row) * n + column;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (inside) {
                    *reinterpret_cast<Pair*>(to + j * 8) = {kg::from_float<T_out>(sums[j * 4]),
                                                            kg::from_float<T_out>(sums[j * 4 + 1])};
                } else {
                    epilogue.pair(row, column + j * 8, sums[j * 4], sums[j * 4 + 1]);
                }
            }
        };
    };
    multiply_tiles<A_ALONG_K, B_ALONG_K>(static_cast<long long>(tiles) * n_batch, (k + DEPTH - 1) / DEPTH,
                                         input, output);
}

// Adds the parts of a product that was split along k, two neighbours of a row a thread.
extern "C" __global__ void __launch_bounds__(256)
add_splits(const float* __restrict__ partial, const ElementC* __restrict__ c, T_out* __restrict__ out, int m, int n,
           int splits, long long c_row, long long c_col, float alpha, float beta) {
    kg::dependency_wait();
    const long long size = static_cast<long long>(m) * n;
    const long long at = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * 2;
    if (at >= size) {
        return;
    }
    float2 sum = {0.0f, 0.0f};
#pragma unroll 4
    for (int i = 0; i < splits; ++i) {
        const float2 part = *reinterpret_cast<const float2*>(partial + i * size + at);
        sum.x += part.x;
        sum.y += part.y;
    }
    const Epilogue epilogue = {c, out, c_row, c_col, m, n, alpha, beta};
    epilogue.pair(at / n, at % n, sum.x, sum.y);
}
