#include <kg/hopper.cuh>

// A warp group copies tiles by the tensor memory accelerator; two multiply, 64 queries each. While the values of
// one tile are summed, the softmax of the next is computed.
constexpr int QUERIES = 128;  // of a tile
constexpr int KEYS = DEPTH <= 128 ? 128 : 64;
constexpr int STAGES = 2;
constexpr kg::mma TYPE = BF16 ? kg::mma::bf16 : kg::mma::f16;

// Columns of 64 elements, 128-byte swizzled, below each other.
struct alignas(1024) Tiles {
    unsigned short q[QUERIES * DEPTH];
    unsigned short k[STAGES][KEYS * DEPTH];
    unsigned short v[STAGES][KEYS * DEPTH];
};

__device__ __forceinline__ void copy_boxes(unsigned short* to, const CUtensorMap* map, uint64_t* barrier,
                                           int rows, int row, int head, int batch) {
#pragma unroll
    for (int e = 0; e < DEPTH; e += 64) {
        kg::tma_load(to + e * rows, map, barrier, e, row, head, batch);
    }
}

// So many elements of a query or key are multiplied, and as many columns of the values: others are 0.
template <int ELEMENTS, int COLUMNS>
__global__ void __launch_bounds__(384, 1) attention_by_boxes(
    const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
    const __grid_constant__ CUtensorMap map_v, const Mask* __restrict__ mask,
    T_out* __restrict__ out, int queries, int keys, int depth, int width, int heads, int key_share,
    int value_share, long long m_batch, long long m_head, long long m_row, long long m_column,
    bool causal, bool by_depth, float scale) {
    extern __shared__ __align__(1024) unsigned char dynamic[];
    __shared__ uint64_t full_q, full_k[STAGES], full_v[STAGES], empty_k[STAGES], empty_v[STAGES];
    Tiles& tiles = *reinterpret_cast<Tiles*>(dynamic);
    const int head = blockIdx.y % heads;
    const int batch = blockIdx.y / heads;
    // With a causal mask the last queries have most work: they go first.
    const int query0 = (gridDim.x - 1 - blockIdx.x) * QUERIES;
    const int end = causal ? min(keys, query0 + QUERIES) : keys;
    const int steps = (end + KEYS - 1) / KEYS;
    if (threadIdx.x == 0) {
        kg::mbarrier_init(&full_q, 1);
        for (int stage = 0; stage < STAGES; ++stage) {
            kg::mbarrier_init(&full_k[stage], 1);
            kg::mbarrier_init(&full_v[stage], 1);
            kg::mbarrier_init(&empty_k[stage], 2);
            kg::mbarrier_init(&empty_v[stage], 2);
        }
        kg::fence_mbarrier_init();
    }
    __syncthreads();

    if (threadIdx.x < 128) {
        kg::registers_dec<40>();
        if (threadIdx.x == 0) {
            kg::mbarrier_arrive_expect_tx(&full_q, sizeof(tiles.q));
            copy_boxes(tiles.q, &map_q, &full_q, QUERIES, query0, head, batch);
            for (int step = 0; step < steps; ++step) {
                const unsigned stage = step % STAGES;
                const unsigned parity = step / STAGES % 2 ^ 1;
                kg::mbarrier_wait(&empty_k[stage], parity);
                kg::mbarrier_arrive_expect_tx(&full_k[stage], sizeof(tiles.k[stage]));
                copy_boxes(tiles.k[stage], &map_k, &full_k[stage], KEYS, step * KEYS,
                           head / key_share, batch);
                kg::mbarrier_wait(&empty_v[stage], parity);
                kg::mbarrier_arrive_expect_tx(&full_v[stage], sizeof(tiles.v[stage]));
                copy_boxes(tiles.v[stage], &map_v, &full_v[stage], KEYS, step * KEYS,
                           head / value_share, batch);
            }
        }
        return;
    }
    kg::registers_inc<232>();
    const int group = threadIdx.x / 128 - 1;
    const int lane = threadIdx.x % 32;
    // This thread's rows are this one and the eighth after it.
    const int query = query0 + group * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4;
    mask += batch * m_batch + head * m_head;
    if (by_depth) {
        scale = rsqrtf(static_cast<float>(depth));
    }
    const float factor = scale * LOG2E;

    float sum[COLUMNS / 2];
    float score[KEYS / 2];
    unsigned weight[KEYS / 16][4];
    float largest[2] = {-INFINITY, -INFINITY};
    float total[2] = {0.0f, 0.0f};
    float rescale[2];
#pragma unroll
    for (float& s : sum) {
        s = 0.0f;
    }

    auto multiply_keys = [&](int step) {
        const unsigned stage = step % STAGES;
        kg::mbarrier_wait(&full_k[stage], step / STAGES % 2);
        const auto a = kg::wgmma_descriptor<128>(&tiles.q[group * 64 * 64]);
        const auto b = kg::wgmma_descriptor<128>(tiles.k[stage]);
        kg::wgmma_fence();
#pragma unroll
        for (int e = 0; e < ELEMENTS; e += 16) {
            kg::wgmma<TYPE, KEYS>(score, kg::wgmma_advance(a, e / 64 * QUERIES * 128 + e % 64 * 2),
                                  kg::wgmma_advance(b, e / 64 * KEYS * 128 + e % 64 * 2), e > 0);
        }
        kg::wgmma_commit();
    };
    auto release = [&](uint64_t& barrier) {
        if (threadIdx.x % 128 == 0) {
            kg::mbarrier_arrive(&barrier);
        }
    };
    // Scores become weights; the sums of the rows go on in `total`.
    auto softmax = [&](int step) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int q = query + h * 8;
            const int k0 = step * KEYS + lane % 4 * 2;
            const bool whole = MASK == 0 && (step + 1) * KEYS <= keys && !(causal && (step + 1) * KEYS > q);
            float top = largest[h];
#pragma unroll
            for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
                for (int x = 0; x < 2; ++x) {
                    float& s = score[j * 4 + h * 2 + x];
#if PRESCALE
                    s *= factor;
#endif
                    if (!whole) {
                        masked(s, q, k0 + j * 8 + x, queries, keys, causal, mask, m_row, m_column);
                    }
                    top = fmaxf(top, s);
                }
            }
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            // A row that has seen nothing yet has no largest score.
            const float unit = PRESCALE ? 1.0f : factor;
            const float base = top == -INFINITY ? 0.0f : top * unit;
            rescale[h] = exp2_of(fmaf(largest[h], unit, -base));
            largest[h] = top;
            float part = 0.0f;
#pragma unroll
            for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
                for (int x = 0; x < 2; ++x) {
                    float& s = score[j * 4 + h * 2 + x];
                    s = exp2_of(fmaf(s, unit, -base));
                    part += s;
                }
            }
            total[h] = total[h] * rescale[h] + part;
        }
    };
    auto round_weights = [&] {
#pragma unroll
        for (int k = 0; k < KEYS / 16; ++k) {
#pragma unroll
            for (int p = 0; p < 4; ++p) {
                weight[k][p] = packed<T_query>(score[k * 8 + p * 2], score[k * 8 + p * 2 + 1]);
            }
        }
    };
    auto multiply_values = [&](int step) {
        const unsigned stage = step % STAGES;
        kg::mbarrier_wait(&full_v[stage], step / STAGES % 2);
        const auto b = kg::wgmma_descriptor<128>(tiles.v[stage], KEYS * 128, 1024);
        kg::wgmma_fence();
#pragma unroll
        for (int k = 0; k < KEYS; k += 16) {
            kg::wgmma<TYPE, COLUMNS, 1>(sum, weight[k / 16], kg::wgmma_advance(b, k * 128));
        }
        kg::wgmma_commit();
    };

    kg::mbarrier_wait(&full_q, 0);
    // There always is a step, but without the conditions the compiler orders the rest worse: with a depth of
    // 64 an H200 takes 477 us instead of 417.
    if (steps > 0) {
        multiply_keys(0);
        kg::wgmma_wait<0>();
        kg::wgmma_hold(score);
        release(empty_k[0]);
        softmax(0);
        round_weights();
    }
    for (int step = 1; step < steps; ++step) {
        multiply_keys(step);
        multiply_values(step - 1);
        kg::wgmma_wait<1>();
        kg::wgmma_hold(score);
        release(empty_k[step % STAGES]);
        softmax(step);
        kg::wgmma_wait<0>();
        kg::wgmma_hold(sum);
        release(empty_v[(step - 1) % STAGES]);
#pragma unroll
        for (int i = 0; i < COLUMNS / 2; ++i) {
            sum[i] *= rescale[i / 2 % 2];
        }
        round_weights();
    }
    if (steps > 0) {
        multiply_values(steps - 1);
        kg::wgmma_wait<0>();
        kg::wgmma_hold(sum);
    }

#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float all = total[h];
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        all += __shfl_xor_sync(0xffffffffu, all, 2);
        // A row that sees nothing is 0.
        const float share = all == 0.0f ? 0.0f : 1.0f / all;
        const int q = query + h * 8;
        T_out* to = out + (static_cast<long long>(blockIdx.y) * queries + q) * width;
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; ++j) {
            const int column = j * 8 + lane % 4 * 2;
            if (q < queries && column < width) {
                *reinterpret_cast<unsigned*>(to + column) =
                    packed<T_query>(sum[j * 4 + h * 2] * share, sum[j * 4 + h * 2 + 1] * share);
            }
        }
    }
}
