// Dot product of f32 vectors summed in f64, one partial result per block.
__inline__ __device__ double warp_reduce(double v) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

extern "C" __global__ void dot_f64(const float* __restrict__ a, const float* __restrict__ b, double* __restrict__ partial, long long n) {
    __shared__ double warp_sums[32];
    const int lane = threadIdx.x % warpSize;
    const int warp = threadIdx.x / warpSize;
    const int warps = blockDim.x / warpSize;
    double sum = 0.0;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += stride) {
        sum += (double)a[i] * (double)b[i];
    }
    sum = warp_reduce(sum);
    if (lane == 0) {
        warp_sums[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        sum = (lane < warps) ? warp_sums[lane] : 0.0;
        sum = warp_reduce(sum);
        if (lane == 0) partial[blockIdx.x] = sum;
    }
}
