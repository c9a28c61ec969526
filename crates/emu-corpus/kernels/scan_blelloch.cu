// Exclusive scan of 256 elements per block (Blelloch), and each block's total.
#define N 256
extern "C" __global__ void scan_blelloch(const int* __restrict__ in, int* __restrict__ out, int* __restrict__ totals, int n) {
    __shared__ int temp[N];
    int tid = threadIdx.x;
    int a = blockIdx.x * N + 2 * tid;
    temp[2 * tid] = a < n ? in[a] : 0;
    temp[2 * tid + 1] = a + 1 < n ? in[a + 1] : 0;
    int offset = 1;
    for (int d = N / 2; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            int ai = offset * (2 * tid + 1) - 1;
            int bi = offset * (2 * tid + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (tid == 0) {
        totals[blockIdx.x] = temp[N - 1];
        temp[N - 1] = 0;
    }
    for (int d = 1; d < N; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int ai = offset * (2 * tid + 1) - 1;
            int bi = offset * (2 * tid + 2) - 1;
            int t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    if (a < n) out[a] = temp[2 * tid];
    if (a + 1 < n) out[a + 1] = temp[2 * tid + 1];
}
