// Softplus with beta and threshold, grid-stride.
extern "C" __global__ void softplus(const float* __restrict__ x, float* __restrict__ y, float beta, float threshold, size_t n) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float v = x[i];
        float z = beta * v;
        y[i] = z > threshold ? v : log1pf(expf(z)) / beta;
    }
}
