// Inclusive scan of a block by shuffles, with each block's total.
extern "C" __global__ void scan_warp(const int* __restrict__ x, int* __restrict__ y, int* __restrict__ totals, int n) {
    __shared__ int warp_sum[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    int warps = blockDim.x >> 5;
    int v = 0;
    if (i < n) v = x[i];
    #pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        int t = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += t;
    }
    if (lane == 31) warp_sum[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < warps ? warp_sum[lane] : 0;
        #pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            int t = __shfl_up_sync(0xffffffff, s, d);
            if (lane >= d) s += t;
        }
        if (lane < warps) warp_sum[lane] = s;
    }
    __syncthreads();
    if (warp > 0) v += warp_sum[warp - 1];
    if (i < n) y[i] = v;
    if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = v;
}
