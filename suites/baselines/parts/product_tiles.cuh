#include "tiles_tma.cuh"
#include "tile_of.cuh"

// Tiles of a product that TMA loads and, where rows of the output are whole pieces of 16 bytes, stores. The two blocks
// of a cluster take neighbouring tiles: the factor that both need comes from each by half.
constexpr bool SHARE_A = CLUSTER == 2 && TILE_N == 64;
constexpr bool SHARE_B = CLUSTER == 2 && !SHARE_A;
constexpr int PAIR_M = SHARE_B ? 2 * TILE_M : TILE_M;
constexpr int PAIR_N = SHARE_A ? 2 * TILE_N : TILE_N;

struct Place {
    int row, column, batch, width;
};

struct Tiling {
    int m, n, n_batch, n_halved;  // the last tiles, which are taken as two halves

    __device__ __forceinline__ int per_matrix() const {
        return (m + PAIR_M - 1) / PAIR_M * ((n + PAIR_N - 1) / PAIR_N);
    }
    __device__ __forceinline__ int whole() const {
        return per_matrix() * n_batch - n_halved;
    }
    __device__ __forceinline__ Place operator()(int at) const {
        const int rank = CLUSTER == 2 ? kg::cluster_rank() : 0;
        Place place = {0, 0, 0, TILE_N};
        if (HALVES && at >= whole()) {
            place = {0, (at - whole()) % 2 * (TILE_N / 2), 0, TILE_N / 2};
            at = whole() + (at - whole()) / 2;
        }
        const int2 pair = tile_of<PAIR_M, PAIR_N>(at % per_matrix(), m, n);
        place.row = pair.x + (SHARE_B ? rank * TILE_M : 0);
        place.column += pair.y + (SHARE_A ? rank * TILE_N : 0);
        place.batch = at / per_matrix();
        return place;
    }
};

// Starts copying such an extent of a tile in boxes of 64 x 64; of a shared one a half, into both blocks.
template <bool ALONG_K, bool SHARED>
__device__ __forceinline__ void copy_boxes(unsigned short* to, const CUtensorMap* map, uint64_t* barrier, int extent,
                                           int x0, int k0, int batch) {
    const int half = SHARED ? extent / 2 : extent;
    const int first = SHARED ? kg::cluster_rank() * half : 0;
#pragma unroll 1
    for (int x = first; x < first + half; x += 64) {
        const int c0 = ALONG_K ? k0 : x0 + x;
        const int c1 = ALONG_K ? x0 + x : k0;
        if (SHARED) {
            kg::tma_load_multicast(to + x * 64, map, barrier, 0b11, c0, c1, batch);
        } else {
            kg::tma_load(to + x * 64, map, barrier, c0, c1, batch);
        }
    }
}

// Where a warp's 16 rows of a tile go, 64 columns at a time through two buffers: `finish(row, column, x, y)` makes the
// outputs of two neighbours of a row from their sums.
template <class Finish>
struct TileStore {
    Finish finish;
    const CUtensorMap* map;  // null where rows are not whole pieces of 16 bytes
    T_out* out;
    unsigned char* buffers;
    Place place;
    int m, n;

    // A word of two elements a lane; what is left at the ends of rows is stored alone.
    __device__ __forceinline__ void write(const unsigned char* buffer, int row, int column) const {
        const int lane = threadIdx.x % 32;
        const int columns = min(64, n - column);
        auto* to = reinterpret_cast<unsigned short*>(out) + (static_cast<long long>(place.batch) * m + row) * n + column;
#pragma unroll 4
        for (int y = 0; y < 16; ++y, to += n) {
            uint32_t word = *reinterpret_cast<const uint32_t*>(buffer + y * 128 + ((lane * 4) ^ (y % 8 * 16)));
            const int odd = reinterpret_cast<unsigned long long>(to) / 2 % 2;
            if (odd) {
                if (lane == 31 && columns == 64 && row + y < m) {
                    to[63] = word >> 16;
                }
                word = __funnelshift_l(__shfl_up_sync(0xffffffffu, word, 1), word, 16);
            }
            const int x = lane * 2 - odd;
            if (row + y >= m || x >= columns) {
                continue;
            }
            if (x >= 0 && x + 1 < columns) {
                *reinterpret_cast<uint32_t*>(to + x) = word;
            } else {
                to[max(x, 0)] = x < 0 ? word >> 16 : word;
            }
        }
    }
};

template <class Finish, int N>
__device__ __forceinline__ void store_sums(const TileStore<Finish>& to, int row, const float (&sum)[N]) {
    const int lane = threadIdx.x % 32;
    row += to.place.row;
    const int first = row - lane / 4;  // of the warp
#pragma unroll
    for (int i = 0; i < N; i += 32) {
        const int column = to.place.column + i * 2;
        unsigned char* buffer = to.buffers + i / 32 % 2 * 2048;
        if (first >= to.m || column >= to.n || i * 2 >= to.place.width) {
            break;
        }
        // Earlier stores have read this buffer.
        if (lane == 0) {
            i == 0 ? kg::bulk_wait_read<0>() : kg::bulk_wait_read<1>();
        }
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            uint32_t matrices[4];
#pragma unroll
            for (int l = 0; l < 4; ++l) {
                const int at = i + j * 4 + l * 2;
                matrices[l] = __builtin_bit_cast(uint32_t, to.finish(row + l % 2 * 8, column + (j + l / 2) * 8 + lane % 4 * 2,
                                                                     sum[at], sum[at + 1]));
            }
            kg::stmatrix(buffer + lane % 16 * 128 + (((j + lane / 16) ^ lane % 8) * 16), matrices);
        }
        kg::fence_async_shared();
        __syncwarp();
        if (!to.map) {
            to.write(buffer, first, column);
        } else if (lane == 0) {
            kg::tma_store(to.map, buffer, column, first, to.place.batch);
            kg::bulk_commit();
        }
    }
}

// The two buffers of a warp, behind the stages.
__device__ __forceinline__ unsigned char* tile_buffers() {
    extern __shared__ __align__(1024) unsigned char dynamic[];
    return dynamic + STAGES * sizeof(Stage) + (threadIdx.x / 32 - 4) * 4096;
}

// `output(place)` is what `store_sums` takes.
template <bool A_ALONG_K, bool B_ALONG_K, class Output>
__device__ __forceinline__ void multiply_boxes(const CUtensorMap& map_a, const CUtensorMap& map_b, int k,
                                               const Tiling& tiling, Output output) {
    auto input = [&](int at) {
        const Place place = tiling(at);
        return [&, place](int step, Stage& to, uint64_t* barrier) {
            copy_boxes<A_ALONG_K, SHARE_A>(to.a, &map_a, barrier, TILE_M, place.row, step * 64, place.batch);
            copy_boxes<B_ALONG_K, SHARE_B>(to.b, &map_b, barrier, place.width, place.column, step * 64, place.batch);
        };
    };
    multiply_tiles<A_ALONG_K, B_ALONG_K>(tiling.whole() + 2 * tiling.n_halved, (k + DEPTH - 1) / DEPTH, input,
                                         [&](int at) { return output(tiling(at)); }, tiling.whole());
    if (threadIdx.x % 32 == 0) {
        kg::bulk_wait_read<0>();
    }
}
