// Baseline of paged_attention_v1: a block per sequence and head; scores are made once, then used by the element.
/*@plan
q = contiguous(query)
keys = contiguous(key_cache)
values = contiguous(value_cache)
tables = contiguous(block_tables)
lens = contiguous(seq_lens)
slopes = contiguous(alibi_slopes) if has(alibi_slopes) else None
seqs, heads, d = query.shape
scores = scratch(4 * max(1, seqs * heads * max_seq_len))
launch("paged_attention_v1", grid=seqs * heads, block=128,
       args=[q, keys, values, tables, lens, slopes, out, scores, heads, heads // num_kv_heads, d,
             block_size, key_cache.shape[4], block_tables.shape[1], max_seq_len, f32(scale)])
@*/

// The result of a function of two numbers over the 128 threads of the block, in every thread.
__device__ float over_block(float value, bool largest) {
    __shared__ float partial[128];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int offset = 64; offset > 0; offset /= 2) {
        if (threadIdx.x < offset) {
            const float other = partial[threadIdx.x + offset];
            const float mine = partial[threadIdx.x];
            partial[threadIdx.x] = largest ? fmaxf(mine, other) : mine + other;
        }
        __syncthreads();
    }
    return partial[0];
}

extern "C" __global__ void __launch_bounds__(128)
paged_attention_v1(const T_query* __restrict__ query, const T_key_cache* __restrict__ keys,
                   const T_value_cache* __restrict__ values, const int* __restrict__ tables,
                   const int* __restrict__ lens, const float* __restrict__ slopes,
                   T_out* __restrict__ out, float* __restrict__ scores, int heads, int each, int d,
                   int size, int x, int table, int longest, float scale) {
    const long long row = blockIdx.x;
    const long long seq = row / heads;
    const int head = row % heads;
    const int kv_heads = heads / each;
    const int length = lens[seq];
    float* own = scores + row * longest;
    float largest = -INFINITY;
    for (int token = threadIdx.x; token < length; token += 128) {
        const long long block = tables[seq * table + token / size];
        const long long at = block * kv_heads + head / each;
        float score = 0.0f;
        for (int i = 0; i < d; ++i) {
            const long long place = ((at * (d / x) + i / x) * size + token % size) * x + i % x;
            score = fmaf(kg::to_float(query[row * d + i]), kg::to_float(keys[place]), score);
        }
        score *= scale;
        if (slopes) {
            score += slopes[head] * (token - length + 1);
        }
        own[token] = score;
        largest = fmaxf(largest, score);
    }
    largest = over_block(largest, true);
    float total = 0.0f;
    for (int token = threadIdx.x; token < length; token += 128) {
        own[token] = expf(own[token] - largest);
        total += own[token];
    }
    total = over_block(total, false);
    for (int i = threadIdx.x; i < d; i += 128) {
        float sum = 0.0f;
        for (int token = 0; token < length; ++token) {
            const long long block = tables[seq * table + token / size];
            const long long at = block * kv_heads + head / each;
            sum = fmaf(own[token], kg::to_float(values[(at * d + i) * size + token % size]), sum);
        }
        out[row * d + i] = kg::from_float<T_out>(length > 0 ? sum / total : 0.0f);
    }
}
