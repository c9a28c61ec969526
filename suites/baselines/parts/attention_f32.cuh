// 128 queries a block, 8 of them and 4 keys of a tile per thread, and an online softmax.
constexpr int QUERIES = 128;
constexpr int KEYS = 64;
constexpr int COLUMNS = DEPTH / 16;  // of the output, per thread

// Rows along the depth are stored across, so that neighbours among queries or keys are read at once.
struct Tiles {
    float q[DEPTH][QUERIES + 4];
    float k[DEPTH][KEYS + 4];
    float v[KEYS][DEPTH];
    float weight[KEYS][QUERIES + 4];
};

__device__ __forceinline__ void four(float* to, const float* from) {
    *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}

extern "C" __global__ void __launch_bounds__(256) attention_f32(ARGUMENTS) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    Tiles& tiles = *reinterpret_cast<Tiles*>(dynamic);
    const int at = blockIdx.y + blockIdx.z * 65535;
    const int head = at % heads;
    const int batch = at / heads;
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
    const int ty = threadIdx.x / 16;
    const int tx = threadIdx.x % 16;
    for (int i = threadIdx.x; i < QUERIES * DEPTH; i += 256) {
        const int q = i / DEPTH;
        const int e = i % DEPTH;
        const bool inside = query0 + q < queries && e < depth;
        tiles.q[e][q] = inside ? query[(query0 + q) * q_row + e * q_column] * scale * LOG2E : 0.0f;
    }

    float sum[8][COLUMNS] = {};
    float largest[8];
    float total[8] = {};
    for (float& top : largest) {
        top = -INFINITY;
    }
    const int end = causal ? min(keys, query0 + QUERIES) : keys;
    for (int k0 = 0; k0 < end; k0 += KEYS) {
        __syncthreads();
        for (int i = threadIdx.x; i < KEYS * DEPTH; i += 256) {
            const int k = i / DEPTH;
            const int e = i % DEPTH;
            const bool inside = k0 + k < keys;
            tiles.k[e][k] = inside && e < depth ? key[(k0 + k) * k_row + e * k_column] : 0.0f;
            tiles.v[k][e] = inside && e < width ? value[(k0 + k) * v_row + e * v_column] : 0.0f;
        }
        __syncthreads();
        float score[8][4] = {};
#pragma unroll 8
        for (int e = 0; e < DEPTH; ++e) {
            float q[8];
            float k[4];
            four(q, &tiles.q[e][ty * 8]);
            four(q + 4, &tiles.q[e][ty * 8 + 4]);
            four(k, &tiles.k[e][tx * 4]);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    score[i][j] = fmaf(q[i], k[j], score[i][j]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float top = largest[i];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                masked(score[i][j], query0 + ty * 8 + i, k0 + tx * 4 + j, queries, keys, causal, mask, m_row, m_column);
                top = fmaxf(top, score[i][j]);
            }
            // The 16 threads of a row of scores.
            for (int offset = 8; offset > 0; offset /= 2) {
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
            }
            // A row that has seen nothing yet has no largest score.
            const float base = top == -INFINITY ? 0.0f : top;
            const float rescale = exp2f(largest[i] - base);
            largest[i] = top;
            total[i] *= rescale;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float weight = exp2f(score[i][j] - base);
                total[i] += weight;
                tiles.weight[tx * 4 + j][ty * 8 + i] = weight;
            }
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) {
                sum[i][c] *= rescale;
            }
        }
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < KEYS; ++k) {
            float weight[8];
            float v[COLUMNS];
            four(weight, &tiles.weight[k][ty * 8]);
            four(weight + 4, &tiles.weight[k][ty * 8 + 4]);
#pragma unroll
            for (int c = 0; c < COLUMNS; c += 4) {
                four(v + c, &tiles.v[k][c * 16 + tx * 4]);
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    sum[i][c] = fmaf(weight[i], v[c], sum[i][c]);
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < 8; ++i) {
        float all = total[i];
        for (int offset = 8; offset > 0; offset /= 2) {
            all += __shfl_xor_sync(0xffffffffu, all, offset);
        }
        const int q = query0 + ty * 8 + i;
        // A row that sees nothing is 0.
        const float share = all == 0.0f ? 0.0f : 1.0f / all;
        T_out* to = out + (static_cast<long long>(at) * queries + q) * width;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            const int column = c / 4 * 64 + tx * 4 + c % 4;
            if (q < queries && column < width) {
                to[column] = sum[i][c] * share;
            }
        }
    }
}
