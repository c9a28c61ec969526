#define D 16
#define TILE 16

// Flash attention with an online softmax: one thread per query, keys and values in shared tiles.
extern "C" __global__ void flash_attention(const float* __restrict__ q, const float* __restrict__ k,
                                           const float* __restrict__ v, float* __restrict__ out,
                                           int n, float scale) {
    __shared__ float ks[TILE][D];
    __shared__ float vs[TILE][D];
    size_t head = (size_t)blockIdx.y * n * D;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float query[D];
    float acc[D];
    for (int d = 0; d < D; ++d) {
        query[d] = row < n ? q[head + row * D + d] * scale : 0.0f;
        acc[d] = 0.0f;
    }
    float best = -1e30f;
    float total = 0.0f;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        int count = min(TILE, n - k0);
        for (int i = threadIdx.x; i < count * D; i += blockDim.x) {
            ks[i / D][i % D] = k[head + k0 * D + i];
            vs[i / D][i % D] = v[head + k0 * D + i];
        }
        __syncthreads();
        for (int j = 0; j < count; ++j) {
            float score = 0.0f;
            for (int d = 0; d < D; ++d) {
                score = fmaf(query[d], ks[j][d], score);
            }
            float next = fmaxf(best, score);
            float keep = __expf(best - next);
            float p = __expf(score - next);
            total = total * keep + p;
            for (int d = 0; d < D; ++d) {
                acc[d] = acc[d] * keep + p * vs[j][d];
            }
            best = next;
        }
        __syncthreads();
    }
    if (row < n) {
        for (int d = 0; d < D; ++d) {
            out[head + row * D + d] = acc[d] / total;
        }
    }
}

// Causal attention, one block of 64 threads per query and head; scores live in dynamic shared memory.
extern "C" __global__ void causal_attention(const float* __restrict__ q, const float* __restrict__ k,
                                            const float* __restrict__ v, float* __restrict__ out,
                                            int n, int d, float scale) {
    extern __shared__ float scores[];
    __shared__ float reduce[64];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    const float* query = q + ((size_t)blockIdx.y * n + row) * d;
    const float* keys = k + (size_t)blockIdx.y * n * d;
    const float* values = v + (size_t)blockIdx.y * n * d;
    float best = -1e30f;
    for (int j = tid; j <= row; j += 64) {
        float score = 0.0f;
        for (int c = 0; c < d; ++c) {
            score = fmaf(query[c], keys[j * d + c], score);
        }
        scores[j] = score * scale;
        best = fmaxf(best, score * scale);
    }
    reduce[tid] = best;
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (tid < step) {
            reduce[tid] = fmaxf(reduce[tid], reduce[tid + step]);
        }
        __syncthreads();
    }
    best = reduce[0];
    __syncthreads();
    float sum = 0.0f;
    for (int j = tid; j <= row; j += 64) {
        float p = expf(scores[j] - best);
        scores[j] = p;
        sum += p;
    }
    reduce[tid] = sum;
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (tid < step) {
            reduce[tid] += reduce[tid + step];
        }
        __syncthreads();
    }
    float inverse = 1.0f / reduce[0];
    for (int c = tid; c < d; c += 64) {
        float acc = 0.0f;
        for (int j = 0; j <= row; ++j) {
            acc = fmaf(scores[j], values[j * d + c], acc);
        }
        out[((size_t)blockIdx.y * n + row) * d + c] = acc * inverse;
    }
}

#define DIM 32

// Appends one key and value per head to the caches and attends over them: a block of 64 threads per
// head, a warp per key.
extern "C" __global__ void kv_cache_decode(const float* __restrict__ q, const float* __restrict__ new_k,
                                           const float* __restrict__ new_v, float* k_cache, float* v_cache,
                                           float* __restrict__ out, int position, int capacity, float scale) {
    __shared__ float scores[64];
    __shared__ float partial[DIM];
    int head = blockIdx.x;
    int tid = threadIdx.x;
    int lane = tid % 32;
    int warp = tid / 32;
    float* keys = k_cache + (size_t)head * capacity * DIM;
    float* values = v_cache + (size_t)head * capacity * DIM;
    if (tid < DIM) {
        keys[position * DIM + tid] = new_k[head * DIM + tid];
    } else {
        values[position * DIM + tid - DIM] = new_v[head * DIM + tid - DIM];
    }
    __syncthreads();
    int length = position + 1;
    for (int j = warp; j < length; j += 2) {
        float score = q[head * DIM + lane] * keys[j * DIM + lane];
        for (int offset = 16; offset > 0; offset /= 2) {
            score += __shfl_xor_sync(0xffffffff, score, offset);
        }
        if (lane == 0) {
            scores[j] = score * scale;
        }
    }
    __syncthreads();
    float best = -1e30f;
    for (int j = 0; j < length; ++j) {
        best = fmaxf(best, scores[j]);
    }
    float total = 0.0f;
    float acc = 0.0f;
    for (int j = 0; j < length; ++j) {
        float p = expf(scores[j] - best);
        total += p;
        if (j % 2 == warp) {
            acc = fmaf(p, values[j * DIM + lane], acc);
        }
    }
    if (warp == 1) {
        partial[lane] = acc;
    }
    __syncthreads();
    if (warp == 0) {
        out[head * DIM + lane] = (acc + partial[lane]) / total;
    }
}
