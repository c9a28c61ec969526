// Stream compaction of the positive elements within each block, by ballot.
extern "C" __global__ void compact(const int* __restrict__ x, int* __restrict__ out, int* __restrict__ count, int n) {
    __shared__ int offset[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    int v = i < n ? x[i] : 0;
    bool keep = v > 0;
    unsigned mask = __ballot_sync(0xffffffff, keep);
    int rank = __popc(mask & ((1u << lane) - 1));
    if (lane == 0) {
        offset[warp] = __popc(mask);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) {
            int c = offset[w];
            offset[w] = sum;
            sum += c;
        }
        count[blockIdx.x] = sum;
    }
    __syncthreads();
    if (keep) {
        out[blockIdx.x * blockDim.x + offset[warp] + rank] = v;
    }
}
