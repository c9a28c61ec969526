/*@plan
x = contiguous(self)
r = self.ndim
d0 = dim0 + max(r, 1) if dim0 < 0 else dim0
d1 = dim1 + max(r, 1) if dim1 < 0 else dim1
lo = min(d0, d1)
hi = max(d0, d1)
outer = 1
for d in range(0, lo):
    outer *= self.shape[d]
middle = 1
for d in range(lo + 1, hi):
    middle *= self.shape[d]
inner = 1
for d in range(hi + 1, r):
    inner *= self.shape[d]
rows = self.shape[lo] if lo != hi else 1
cols = self.shape[hi] if r > 0 else 1
launch("turn", grid=outer * middle * inner * cdiv(rows, 32) * cdiv(cols, 32), block=256, args=[x, out, rows, cols, middle, inner])
@*/

// Tiles of 32 by 32 through shared memory.
extern "C" __global__ void turn(const T_self* x, T_out* out, long long rows, long long cols, long long middle, long long inner) {
    __shared__ T_self tile[32][33];
    const int tx = threadIdx.x % 32;
    const int ty = threadIdx.x / 32;
    long long b = blockIdx.x;
    const long long across = (cols + 31) / 32;
    const long long col0 = b % across * 32;
    b /= across;
    const long long down = (rows + 31) / 32;
    const long long row0 = b % down * 32;
    b /= down;
    const long long in = b % inner;
    const long long mid = b / inner % middle;
    const long long outer = b / inner / middle;
    for (int t = ty; t < 32; t += 8) {
        if (row0 + t < rows && col0 + tx < cols) {
            tile[t][tx] = x[(((outer * rows + row0 + t) * middle + mid) * cols + col0 + tx) * inner + in];
        }
    }
    __syncthreads();
    for (int t = ty; t < 32; t += 8) {
        if (col0 + t < cols && row0 + tx < rows) {
            out[(((outer * cols + col0 + t) * middle + mid) * rows + row0 + tx) * inner + in] = tile[tx][t];
        }
    }
}
