// y = a * x, one warp per row.
extern "C" __global__ void matvec_warp(const float* __restrict__ a, const float* __restrict__ x,
                                       float* __restrict__ y, int rows, int cols) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (warp >= rows) {
        return;
    }
    const float* row = a + (size_t)warp * cols;
    float sum = 0.0f;
    for (int i = lane; i < cols; i += 32) {
        sum += row[i] * x[i];
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) {
        y[warp] = sum;
    }
}

// y = a * x, one block of 128 threads per row; x is staged in shared memory, rows come as float4.
extern "C" __global__ void matvec_float4(const float* __restrict__ a, const float* __restrict__ x,
                                         float* __restrict__ y, int cols) {
    extern __shared__ float4 xs[];
    __shared__ float partial[4];
    int tid = threadIdx.x;
    int quads = cols / 4;
    for (int i = tid; i < quads; i += blockDim.x) {
        xs[i] = reinterpret_cast<const float4*>(x)[i];
    }
    __syncthreads();
    const float4* row = reinterpret_cast<const float4*>(a + (size_t)blockIdx.x * cols);
    float sum = 0.0f;
    for (int i = quads - 1 - tid; i >= 0; i -= blockDim.x) {
        float4 v = row[i];
        float4 w = xs[i];
        sum = fmaf(v.x, w.x, sum);
        sum = fmaf(v.y, w.y, sum);
        sum = fmaf(v.z, w.z, sum);
        sum = fmaf(v.w, w.w, sum);
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (tid % 32 == 0) {
        partial[tid / 32] = sum;
    }
    __syncthreads();
    if (tid == 0) {
        y[blockIdx.x] = partial[0] + partial[1] + partial[2] + partial[3];
    }
}
