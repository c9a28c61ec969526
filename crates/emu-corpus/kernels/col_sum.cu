// Column sums of a row-major matrix: 32 columns per block, 8 rows at a time.
#define TX 32
#define TY 8
extern "C" __global__ void col_sum(const float* __restrict__ a, float* __restrict__ out, int rows, int cols) {
    __shared__ float tile[TY][TX + 1];
    int col = blockIdx.x * TX + threadIdx.x;
    float sum = 0.0f;
    if (col < cols) {
        for (int r = threadIdx.y; r < rows; r += TY) {
            sum += a[r * cols + col];
        }
    }
    tile[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && col < cols) {
        float total = 0.0f;
        for (int t = 0; t < TY; ++t) {
            total += tile[t][threadIdx.x];
        }
        out[col] = total;
    }
}
