#include "tensor_core.cuh"

constexpr int QUERIES = 64;          // of a tile, 16 per warp
constexpr int KEYS = 64;             // of a tile
constexpr int PIECES_N = DEPTH / 8;  // of the output
constexpr int PIECES_K = KEYS / 8;   // of the scores

// 64 queries a block, and an online softmax.
template <int BYTES>
__global__ void __launch_bounds__(N_THREADS) attention(ARGUMENTS) {
    extern __shared__ __align__(1024) unsigned char tiles[];
    const unsigned tile_q = static_cast<unsigned>(__cvta_generic_to_shared(tiles));
    const unsigned tile_k = tile_q + QUERIES * DEPTH * 2;
    const unsigned tile_v = tile_k + KEYS * DEPTH * 2;
    const int at = blockIdx.y + blockIdx.z * 65535;
    const int head = at % heads;
    const int batch = at / heads;
    // With a causal mask the last queries have most work: they go first.
    const int query0 = (gridDim.x - 1 - blockIdx.x) * QUERIES;
    if (at >= n_heads) {
        return;
    }
    query += batch * q_batch + head * q_head;
    key += batch * k_batch + head / key_share * k_head;
    value += batch * v_batch + head / value_share * v_head;
    mask += batch * m_batch + head * m_head;
    if (by_depth) {
        scale = 1.0f / sqrtf(static_cast<float>(depth));
    }
    const int warp_row = threadIdx.x / 32 * 16;
    const int lane = threadIdx.x % 32;
    // Which of the four 8x8 matrices of a load this lane addresses, and the row in it.
    const int upper = lane / 16 * 8;
    const int lower = lane / 8 % 2 * 8;
    const int row = lane % 8;

    auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
    auto load_keys = [&](int k0) {
        copy_tile<KEYS, DEPTH, BYTES>(tile_k, key, k0, 0, keys, depth, k_row, k_column);
        commit();
    };
    const int end = causal ? min(keys, query0 + QUERIES) : keys;
    copy_tile<QUERIES, DEPTH, BYTES>(tile_q, query, query0, 0, queries, depth, q_row, q_column);
    load_keys(0);

    float sum[PIECES_N][4] = {};
    float largest[2] = {-INFINITY, -INFINITY};
    float total[2] = {0.0f, 0.0f};
    for (int k0 = 0; k0 < end; k0 += KEYS) {
        copy_tile<KEYS, DEPTH, BYTES>(tile_v, value, k0, 0, keys, width, v_row, v_column);
        commit();
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();

        float score[PIECES_K][4] = {};
#pragma unroll
        for (int e = 0; e < DEPTH; e += 16) {
            unsigned a[4];
            load_matrices<true>(a, tile_q + place_of<QUERIES>(warp_row + lower + row, (e + upper) / 8));
#pragma unroll
            for (int j = 0; j < PIECES_K; j += 2) {
                unsigned b[4];
                load_matrices<true>(b, tile_k + place_of<KEYS>(j * 8 + upper + row, (e + lower) / 8));
                multiply(score[j], a, b[0], b[1]);
                multiply(score[j + 1], a, b[2], b[3]);
            }
        }
        __syncthreads();
        if (k0 + KEYS < end) {
            load_keys(k0 + KEYS);
        } else {
            commit();
        }

#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int q = query0 + warp_row + h * 8 + lane / 4;
            const bool whole = MASK == 0 && k0 + KEYS <= keys && !(causal && k0 + KEYS > q);
            float top = largest[h];
#pragma unroll
            for (int j = 0; j < PIECES_K; ++j) {
#pragma unroll
                for (int x = 0; x < 2; ++x) {
                    float& s = score[j][h * 2 + x];
                    s *= scale * LOG2E;
                    if (!whole) {
                        const int k = k0 + j * 8 + lane % 4 * 2 + x;
                        masked(s, q, k, queries, keys, causal, mask, m_row, m_column);
                    }
                    top = fmaxf(top, s);
                }
            }
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            // A row that has seen nothing yet has no largest score.
            const float base = top == -INFINITY ? 0.0f : top;
            const float rescale = exp2_of(largest[h] - base);
            largest[h] = top;
            float part = 0.0f;
#pragma unroll
            for (int j = 0; j < PIECES_K; ++j) {
#pragma unroll
                for (int x = 0; x < 2; ++x) {
                    float& s = score[j][h * 2 + x];
                    s = exp2_of(s - base);
                    part += s;
                }
            }
            total[h] = total[h] * rescale + part;
#pragma unroll
            for (int j = 0; j < PIECES_N; ++j) {
                sum[j][h * 2] *= rescale;
                sum[j][h * 2 + 1] *= rescale;
            }
        }

        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
#pragma unroll
        for (int k = 0; k < KEYS; k += 16) {
            unsigned a[4];
#pragma unroll
            for (int p = 0; p < 4; ++p) {
                const float* s = &score[k / 8 + p / 2][p % 2 * 2];
                a[p] = packed<T_query>(s[0], s[1]);
            }
#pragma unroll
            for (int j = 0; j < PIECES_N; j += 2) {
                unsigned b[4];
                load_matrices<false>(b, tile_v + place_of<KEYS>(k + lower + row, (j * 8 + upper) / 8));
                multiply(sum[j], a, b[0], b[1]);
                multiply(sum[j + 1], a, b[2], b[3]);
            }
        }
        __syncthreads();
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");

#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float all = total[h];
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        all += __shfl_xor_sync(0xffffffffu, all, 2);
        const int q = query0 + warp_row + h * 8 + lane / 4;
        // A row that sees nothing is 0.
        const float share = all == 0.0f ? 0.0f : 1.0f / all;
        T_out* to = out + (static_cast<long long>(at) * queries + q) * width;
#pragma unroll
        for (int j = 0; j < PIECES_N; ++j) {
#pragma unroll
            for (int x = 0; x < 2; ++x) {
                const int column = j * 8 + lane % 4 * 2 + x;
                if (q < queries && column < width) {
                    to[column] = kg::from_float<T_out>(sum[j][h * 2 + x] * share);
                }
            }
        }
    }
}
