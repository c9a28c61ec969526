#define TILE 16
#define HALO (TILE + 2)

// 3x3 convolution of each channel with its own filter, zero padding, 16x16 outputs per block.
extern "C" __global__ void conv3x3_halo(const float* __restrict__ x, const float* __restrict__ w,
                                        float* __restrict__ y, int height, int width) {
    __shared__ float tile[HALO][HALO + 1];
    __shared__ float filter[9];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int tid = ty * TILE + tx;
    int channel = blockIdx.z;
    const float* plane = x + (size_t)channel * height * width;
    if (tid < 9) {
        filter[tid] = w[channel * 9 + tid];
    }
    for (int i = tid; i < HALO * HALO; i += TILE * TILE) {
        int r = i / HALO;
        int q = i % HALO;
        int row = blockIdx.y * TILE + r - 1;
        int col = blockIdx.x * TILE + q - 1;
        float value = 0.0f;
        if (row >= 0 && row < height && col >= 0 && col < width) {
            value = plane[row * width + col];
        }
        tile[r][q] = value;
    }
    __syncthreads();
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    if (row < height && col < width) {
        float sum = 0.0f;
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                sum = fmaf(tile[ty + i][tx + j], filter[i * 3 + j], sum);
            }
        }
        y[((size_t)channel * height + row) * width + col] = sum;
    }
}

#define BLOCK 128
#define RADIUS 3

// y[i] = sum of 7 neighbours times the filter; zeros outside.
extern "C" __global__ void conv1d_shared(const float* __restrict__ x, const float* __restrict__ w,
                                         float* __restrict__ y, int n) {
    __shared__ float tile[BLOCK + 2 * RADIUS];
    int tid = threadIdx.x;
    int i = blockIdx.x * BLOCK + tid;
    tile[tid + RADIUS] = i < n ? x[i] : 0.0f;
    if (tid < RADIUS) {
        int left = i - RADIUS;
        int right = i + BLOCK;
        tile[tid] = left >= 0 ? x[left] : 0.0f;
        tile[tid + BLOCK + RADIUS] = right < n ? x[right] : 0.0f;
    }
    __syncthreads();
    if (i >= n) {
        return;
    }
    float sum = 0.0f;
    for (int j = -RADIUS; j <= RADIUS; ++j) {
        sum = fmaf(tile[tid + RADIUS + j], w[j + RADIUS], sum);
    }
    y[i] = sum;
}

// One step of u' = u + c * laplace(u) inside, u' = u on the border; a 16x16 block loads 18x18.
extern "C" __global__ void stencil5(const float* __restrict__ u, float* __restrict__ out, float c,
                                    int height, int width) {
    __shared__ float tile[HALO][HALO];
    int tx = threadIdx.x + 1;
    int ty = threadIdx.y + 1;
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    bool inside = row < height && col < width;
    if (inside) {
        tile[ty][tx] = u[row * width + col];
    }
    if (threadIdx.x == 0 && col > 0 && row < height) {
        tile[ty][0] = u[row * width + col - 1];
    }
    if (threadIdx.x == TILE - 1 && col + 1 < width && row < height) {
        tile[ty][TILE + 1] = u[row * width + col + 1];
    }
    if (threadIdx.y == 0 && row > 0 && col < width) {
        tile[0][tx] = u[(row - 1) * width + col];
    }
    if (threadIdx.y == TILE - 1 && row + 1 < height && col < width) {
        tile[TILE + 1][tx] = u[(row + 1) * width + col];
    }
    __syncthreads();
    if (!inside) {
        return;
    }
    float centre = tile[ty][tx];
    float value = centre;
    if (row > 0 && row < height - 1 && col > 0 && col < width - 1) {
        float around = tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1];
        value = fmaf(c, around - 4.0f * centre, centre);
    }
    out[row * width + col] = value;
}

// Transpose with 32x32 tiles; the column is XORed with the row instead of padding.
extern "C" __global__ void transpose_swizzle(const float* __restrict__ in, float* __restrict__ out,
                                             int rows, int cols) {
    __shared__ float tile[32][32];
    int tx = threadIdx.x;
    int col = blockIdx.x * 32 + tx;
    for (int j = threadIdx.y; j < 32; j += 8) {
        int row = blockIdx.y * 32 + j;
        if (row < rows && col < cols) {
            tile[j][tx ^ j] = in[row * cols + col];
        }
    }
    __syncthreads();
    int out_col = blockIdx.y * 32 + tx;
    for (int j = threadIdx.y; j < 32; j += 8) {
        int out_row = blockIdx.x * 32 + j;
        if (out_row < cols && out_col < rows) {
            out[out_row * rows + out_col] = tile[tx][j ^ tx];
        }
    }
}
