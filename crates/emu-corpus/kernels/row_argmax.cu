// One warp per row: value and index of the maximum, the lowest index among equals.
extern "C" __global__ void row_argmax(const int* __restrict__ x, int* __restrict__ best, int* __restrict__ where, int rows, int cols) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const int* in = x + row * cols;
    int v = -2147483647 - 1;
    int at = 0;
    for (int c = lane; c < cols; c += 32) {
        if (in[c] > v) {
            v = in[c];
            at = c;
        }
    }
    for (int o = 16; o > 0; o /= 2) {
        int ov = __shfl_down_sync(0xffffffff, v, o);
        int oat = __shfl_down_sync(0xffffffff, at, o);
        if (ov > v || (ov == v && oat < at)) {
            v = ov;
            at = oat;
        }
    }
    if (lane == 0) {
        best[row] = v;
        where[row] = at;
    }
}
