// Largest K of each row, one warp per row: a sorted list per lane, merged by shuffles.
#define K 4
extern "C" __global__ void topk_warp(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices, int rows, int cols) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* in = x + row * cols;
    float best[K];
    int where[K];
    for (int j = 0; j < K; ++j) {
        best[j] = -INFINITY;
        where[j] = -1;
    }
    for (int c = lane; c < cols; c += 32) {
        float v = in[c];
        if (v > best[K - 1]) {
            int j = K - 1;
            while (j > 0 && best[j - 1] < v) {
                best[j] = best[j - 1];
                where[j] = where[j - 1];
                --j;
            }
            best[j] = v;
            where[j] = c;
        }
    }
    int head = 0;
    for (int r = 0; r < K; ++r) {
        float v = head < K ? best[head] : -INFINITY;
        int at = head < K ? where[head] : -1;
        int winner = lane;
        for (int o = 16; o > 0; o >>= 1) {
            float ov = __shfl_xor_sync(0xffffffff, v, o);
            int oat = __shfl_xor_sync(0xffffffff, at, o);
            int owinner = __shfl_xor_sync(0xffffffff, winner, o);
            if (ov > v || (ov == v && owinner < winner)) {
                v = ov;
                at = oat;
                winner = owinner;
            }
        }
        if (lane == 0) {
            values[row * K + r] = v;
            indices[row * K + r] = at;
        }
        if (lane == winner) ++head;
    }
}
