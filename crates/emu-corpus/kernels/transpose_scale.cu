// Scaled transpose through a padded tile.
#define TILE 32
#define ROWS 8
extern "C" __global__ void transpose_scale(const float* __restrict__ in, float* __restrict__ out, int rows, int cols, float alpha) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (x < cols && y + j < rows) {
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (x < rows && y + j < cols) {
            out[(y + j) * rows + x] = alpha * tile[threadIdx.x][threadIdx.y + j];
        }
    }
}
