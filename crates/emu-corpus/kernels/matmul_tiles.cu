#define TILE 16

// c[b] = a[b] * transpose(b[b]), one slice per blockIdx.z: a is [batch, m, k], b is [batch, n, k].
extern "C" __global__ void bmm_nt(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ c, int m, int n, int k) {
    __shared__ float as[TILE][TILE + 1];
    __shared__ float bs[TILE][TILE + 1];
    const float* a_slice = a + (size_t)blockIdx.z * m * k;
    const float* b_slice = b + (size_t)blockIdx.z * n * k;
    float* c_slice = c + (size_t)blockIdx.z * m * n;
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    int b_row = blockIdx.x * TILE + ty;
    float acc = 0.0f;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        int kk = k0 + tx;
        as[ty][tx] = (row < m && kk < k) ? a_slice[row * k + kk] : 0.0f;
        bs[ty][tx] = (b_row < n && kk < k) ? b_slice[b_row * k + kk] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            acc += as[ty][i] * bs[tx][i];
        }
        __syncthreads();
    }
    if (row < m && col < n) {
        c_slice[row * n + col] = acc;
    }
}

#define BM 32
#define BN 32
#define BK 8
#define TM 4
#define TN 4

// c = a * b with 4x4 outputs per thread; the next tiles are loaded while these are multiplied.
extern "C" __global__ void __launch_bounds__(64)
sgemm_double_buffer(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                    int m, int n, int k) {
    __shared__ float as[2][BK][BM + 4];
    __shared__ float bs[2][BK][BN];
    int tid = threadIdx.x;
    int tx = tid % 8;
    int ty = tid / 8;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;
    float acc[TM][TN] = {};
    for (int i = tid; i < BM * BK; i += 64) {
        int r = row0 + i / BK;
        int p = i % BK;
        as[0][i % BK][i / BK] = (r < m && p < k) ? a[r * k + p] : 0.0f;
    }
    for (int i = tid; i < BK * BN; i += 64) {
        int p = i / BN;
        int q = col0 + i % BN;
        bs[0][i / BN][i % BN] = (p < k && q < n) ? b[p * n + q] : 0.0f;
    }
    __syncthreads();
    int stage = 0;
    for (int k0 = 0; k0 < k; k0 += BK) {
        int next = k0 + BK;
        if (next < k) {
            for (int i = tid; i < BM * BK; i += 64) {
                int r = row0 + i / BK;
                int p = next + i % BK;
                as[stage ^ 1][i % BK][i / BK] = (r < m && p < k) ? a[r * k + p] : 0.0f;
            }
            for (int i = tid; i < BK * BN; i += 64) {
                int p = next + i / BN;
                int q = col0 + i % BN;
                bs[stage ^ 1][i / BN][i % BN] = (p < k && q < n) ? b[p * n + q] : 0.0f;
            }
        }
        for (int kk = 0; kk < BK; ++kk) {
            float ra[TM];
            float rb[TN];
            for (int i = 0; i < TM; ++i) {
                ra[i] = as[stage][kk][ty * TM + i];
            }
            for (int j = 0; j < TN; ++j) {
                rb[j] = bs[stage][kk][tx * TN + j];
            }
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) {
                    acc[i][j] = fmaf(ra[i], rb[j], acc[i][j]);
                }
            }
        }
        __syncthreads();
        stage ^= 1;
    }
    for (int i = 0; i < TM; ++i) {
        int r = row0 + ty * TM + i;
        for (int j = 0; j < TN; ++j) {
            int q = col0 + tx * TN + j;
            if (r < m && q < n) {
                c[r * n + q] = acc[i][j];
            }
        }
    }
}

// c += a * b: each blockIdx.z adds its share of k. c holds zeros before.
extern "C" __global__ void matmul_split_k(const float* __restrict__ a, const float* __restrict__ b,
                                          float* __restrict__ c, int m, int n, int k) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE + 1];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    int share = (k + gridDim.z - 1) / gridDim.z;
    int begin = blockIdx.z * share;
    int end = min(begin + share, k);
    float acc = 0.0f;
    for (int k0 = begin; k0 < end; k0 += TILE) {
        as[ty][tx] = (row < m && k0 + tx < end) ? a[row * k + k0 + tx] : 0.0f;
        bs[ty][tx] = (col < n && k0 + ty < end) ? b[(k0 + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            acc += as[ty][i] * bs[i][tx];
        }
        __syncthreads();
    }
    if (row < m && col < n) {
        atomicAdd(&c[row * n + col], acc);
    }
}

// c = transpose(a) * b with 32x32 tiles and 32x8 threads: a is [k, m], b is [k, n].
extern "C" __global__ void matmul_tn(const float* __restrict__ a, const float* __restrict__ b,
                                     float* __restrict__ c, int m, int n, int k) {
    __shared__ float as[32][33];
    __shared__ float bs[32][33];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row0 = blockIdx.y * 32;
    int col = blockIdx.x * 32 + tx;
    float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k0 = 0; k0 < k; k0 += 32) {
        for (int j = ty; j < 32; j += 8) {
            int p = k0 + j;
            as[j][tx] = (p < k && row0 + tx < m) ? a[p * m + row0 + tx] : 0.0f;
            bs[j][tx] = (p < k && col < n) ? b[p * n + col] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i) {
            float y = bs[i][tx];
            for (int j = 0; j < 4; ++j) {
                acc[j] += as[i][ty + j * 8] * y;
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j) {
        int row = row0 + ty + j * 8;
        if (row < m && col < n) {
            c[row * n + col] = acc[j];
        }
    }
}
