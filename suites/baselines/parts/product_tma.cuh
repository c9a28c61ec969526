#include "product_tiles.cuh"

#if DEEP > 1
// A box that is read once: its lines leave the L2 cache before others.
__device__ __forceinline__ void copy_once(unsigned short* to, const CUtensorMap* map, uint64_t* barrier, int c0, int c1) {
    constexpr uint64_t EVICT_FIRST = 0x12f0000000000000;
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1, {%2, %3, 0}], [%4], %5;" ::"r"(kg::smem_address(to)), "l"(map), "r"(c0), "r"(c1),
                 "r"(kg::smem_address(barrier)), "l"(EVICT_FIRST)
                 : "memory");
}

// Few tiles: the blocks of a cluster take parts of k and add their sums up. The longer of m and n, along which the
// factor `p` is read once; with `long_n` that is the second factor, and the tile is transposed.
template <bool P_ALONG_K, bool Q_ALONG_K>
__global__ void __launch_bounds__(TILE_THREADS)
product_of_parts(const __grid_constant__ CUtensorMap map_p, const __grid_constant__ CUtensorMap map_q,
                 const ElementC* __restrict__ c, T_out* __restrict__ out, int m, int n, int k, bool long_n,
                 long long c_row, long long c_col, float alpha, float beta) {
    const int parts = kg::cluster_size();
    const int part = kg::cluster_rank();
    const int tiles_q = ((long_n ? m : n) + TILE_N - 1) / TILE_N;
    const int tile = blockIdx.x / parts;
    const int p0 = tile / tiles_q * 64;
    const int q0 = tile % tiles_q * TILE_N;
    const int steps = (k + DEPTH - 1) / DEPTH;
    const int begin = steps * part / parts;
    auto input = [&](long long) {
        return [&](int step, Stage& to, uint64_t* barrier) {
            const int k0 = (begin + step) * DEPTH;
#pragma unroll 1
            for (int i = 0; i < DEPTH; i += 64) {
                copy_once(to.a + i * 64, &map_p, barrier, P_ALONG_K ? k0 + i : p0, P_ALONG_K ? p0 : k0 + i);
            }
#pragma unroll 1
            for (int i = 0; i < DEPTH; i += 64) {
                copy_boxes<Q_ALONG_K, false>(to.b + i * TILE_N, &map_q, barrier, TILE_N, q0, k0 + i, 0);
            }
        };
    };
    extern __shared__ __align__(1024) unsigned char dynamic[];
    auto* sums = reinterpret_cast<float*>(dynamic);  // where the stages were, as rows of the output
    const int width = long_n ? 64 : TILE_N;
    const int pitch = width + 4;
    auto place = [&](int p, int q) { return long_n ? q * pitch + p : p * pitch + q; };
    auto output = [&](long long) {
        return [&](int p, int q, const float* sum) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int at = q + j * 8 + threadIdx.x % 4 * 2;
                sums[place(p, at)] = sum[j * 4];
                sums[place(p, at + 1)] = sum[j * 4 + 1];
            }
        };
    };
    kg::dependency_wait();  // for copies of the factors
    multiply_tiles<P_ALONG_K, Q_ALONG_K>(gridDim.x, steps * (part + 1) / parts - begin, input, output);
    kg::cluster_sync();
    const Epilogue<3> epilogue = {c, out, c_row, c_col, m, n, alpha, beta};
    const int share = 64 * TILE_N / parts;
    for (int i = part * share + threadIdx.x; i < (part + 1) * share; i += TILE_THREADS) {
        const int y = i / width;
        const int x = i % width;
        float each[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            each[j] = j < parts ? *kg::cluster_peer(&sums[y * pitch + x], j) : 0.0f;
        }
        float sum = each[0];
#pragma unroll
        for (int j = 1; j < 8; ++j) {
            sum += each[j];
        }
        const int row = (long_n ? q0 : p0) + y;
        const int col = (long_n ? p0 : q0) + x;
        if (row < m && col < n) {
            out[static_cast<long long>(row) * n + col] = kg::from_float<T_out>(epilogue.value(row, col, sum));
        }
    }
    kg::cluster_sync();  // others may still read these sums
}
#else
template <bool A_ALONG_K, bool B_ALONG_K, int ADDENDS>
__global__ void __launch_bounds__(TILE_THREADS, BLOCKS_PER_SM)
product_by_boxes(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                 const __grid_constant__ CUtensorMap map_out, const ElementC* __restrict__ c, T_out* __restrict__ out,
                 int m, int n, int k, int n_batch, int n_halved, bool store_boxes, long long c_batch,
                 long long c_row, long long c_col, float alpha, float beta) {
    kg::dependency_wait();  // for copies of the factors
    multiply_boxes<A_ALONG_K, B_ALONG_K>(map_a, map_b, k, Tiling{m, n, n_batch, n_halved}, [&](const Place& place) {
        const Epilogue<ADDENDS> epilogue = {c ? c + place.batch * c_batch : c, out, c_row, c_col, m, n, alpha, beta};
        auto finish = [=](int row, int col, float x, float y) { return epilogue.two(row, col, x, y); };
        return TileStore<decltype(finish)>{finish, store_boxes ? &map_out : nullptr, out, tile_buffers(), place, m, n};
    });
}
#endif
