// Inclusive scan over all blocks in one launch: decoupled look-back.
#define BLOCK 128
extern "C" __global__ void scan_lookback(const int* x, int* y, int* aggregate, int* prefix, int* flag, int* ticket, int n) {
    __shared__ int buf[BLOCK];
    __shared__ int part;
    __shared__ int before;
    int tid = threadIdx.x;
    if (tid == 0) part = atomicAdd(ticket, 1);
    __syncthreads();
    int i = part * BLOCK + tid;
    buf[tid] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < BLOCK; d <<= 1) {
        int add = tid >= d ? buf[tid - d] : 0;
        __syncthreads();
        buf[tid] += add;
        __syncthreads();
    }
    if (tid == 0) {
        int total = buf[BLOCK - 1];
        int sum = 0;
        aggregate[part] = total;
        __threadfence();
        atomicExch(&flag[part], 1);
        for (int p = part - 1; p >= 0; --p) {
            volatile int* f = &flag[p];
            int state;
            do {
                state = *f;
            } while (state == 0);
            __threadfence();
            if (state == 2) {
                sum += prefix[p];
                break;
            }
            sum += aggregate[p];
        }
        prefix[part] = sum + total;
        __threadfence();
        atomicExch(&flag[part], 2);
        before = sum;
    }
    __syncthreads();
    if (i < n) y[i] = buf[tid] + before;
}
