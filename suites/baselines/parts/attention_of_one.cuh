// One query a block: `LANES` threads per key, 8 elements each, and a softmax per group of so many.
constexpr int LANES = DEPTH / 8;
constexpr int GROUPS = N_THREADS / LANES;
constexpr int AHEAD = 4;  // keys of a group at once

template <class T>
struct alignas(16) Eight {
    T at[8];
};

extern "C" __global__ void __launch_bounds__(N_THREADS) attention_of_one(ARGUMENTS) {
    __shared__ float largest_of[GROUPS];
    __shared__ float total_of[GROUPS];
    __shared__ float sum_of[GROUPS][DEPTH];
    const int head = blockIdx.x % heads;
    const int batch = blockIdx.x / heads;
    query += batch * q_batch + head * q_head;
    key += batch * k_batch + head / key_share * k_head;
    value += batch * v_batch + head / value_share * v_head;
    mask += batch * m_batch + head * m_head;
    if (by_depth) {
        scale = 1.0f / sqrtf(static_cast<float>(depth));
    }
    const int group = threadIdx.x / LANES;
    const int column = threadIdx.x % LANES * 8;
    float q[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
        q[e] = column + e < depth ? kg::to_float(query[(column + e) * q_column]) * scale * LOG2E : 0.0f;
    }
    const int end = causal ? min(keys, 1) : keys;
    float largest = -INFINITY;
    float total = 0.0f;
    float sum[8] = {};
    // All threads of a warp take part in the shuffles.
    for (int k0 = 0; k0 < end; k0 += GROUPS * AHEAD) {
        Eight<T_value> values[AHEAD] = {};
        float score[AHEAD];
        float top = largest;
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            const int k = k0 + a * GROUPS + group;
            score[a] = 0.0f;
            if (k < end && column < depth) {
                const auto keys_of = *reinterpret_cast<const Eight<T_key>*>(key + k * k_row + column);
#pragma unroll
                for (int e = 0; e < 8; ++e) {
                    score[a] = fmaf(q[e], kg::to_float(keys_of.at[e]), score[a]);
                }
            }
            if (k < end && column < width) {
                values[a] = *reinterpret_cast<const Eight<T_value>*>(value + k * v_row + column);
            }
        }
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            const int k = k0 + a * GROUPS + group;
#pragma unroll
            for (int offset = LANES / 2; offset > 0; offset /= 2) {
                score[a] += __shfl_xor_sync(0xffffffffu, score[a], offset);
            }
            masked(score[a], 0, k, 1, end, false, mask, m_row, m_column);
            top = fmaxf(top, score[a]);
        }
        // A group that has seen nothing yet has no largest score.
        const float base = top == -INFINITY ? 0.0f : top;
        const float rescale = exp2_of(largest - base);
        largest = top;
        total *= rescale;
#pragma unroll
        for (int e = 0; e < 8; ++e) {
            sum[e] *= rescale;
        }
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            const float weight = exp2_of(score[a] - base);
            total += weight;
#pragma unroll
            for (int e = 0; e < 8; ++e) {
                sum[e] = fmaf(weight, kg::to_float(values[a].at[e]), sum[e]);
            }
        }
    }
    if (column == 0) {
        largest_of[group] = largest;
        total_of[group] = total;
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) {
        sum_of[group][column + e] = sum[e];
    }
    __syncthreads();
    float top = -INFINITY;
    for (int g = 0; g < GROUPS; ++g) {
        top = fmaxf(top, largest_of[g]);
    }
    const float base = top == -INFINITY ? 0.0f : top;
    for (int c = threadIdx.x; c < width; c += N_THREADS) {
        float all = 0.0f;
        float of_column = 0.0f;
        for (int g = 0; g < GROUPS; ++g) {
            const float weight = exp2_of(largest_of[g] - base);
            all += total_of[g] * weight;
            of_column = fmaf(sum_of[g][c], weight, of_column);
        }
        // A row that sees nothing is 0.
        const float result = all == 0.0f ? 0.0f : of_column / all;
        out[static_cast<long long>(blockIdx.x) * width + c] = kg::from_float<T_out>(result);
    }
}
