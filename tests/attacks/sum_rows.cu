/*@plan
x = contiguous(self)

# Neighbouring dimensions as groups: kept a, folded r1, kept b, folded r2, kept c.
a, r1, b, r2, c = 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    folded = dim is None or len(dim) == 0 or i in dim or i - x.ndim in dim
    extent = x.shape[i]
    if extent != 1:
        require(not (folded and group == 4), "at most two separate groups of folded dimensions")
        if folded == (group % 2 == 0):
            group += 1
        if group == 0:
            a *= extent
        elif group == 1:
            r1 *= extent
        elif group == 2:
            b *= extent
        elif group == 3:
            r2 *= extent
        else:
            c *= extent

n = a * b * c
count = r1 * r2
launch("fold", grid=n, block=256, args=[x, out, n, count, b, r2, c])
@*/

// A block per output: `x` is [a, r1, b, r2, c], outputs count through [a, b, c].
extern "C" __global__ void fold(const T_self* x, T_out* y, long long n, long long count, long long b, long long r2, long long c) {
    __shared__ float partial[256];
    const long long row = blockIdx.x;
    const long long r1 = count / max(r2, 1ll);
    const long long base = ((row / c / b) * r1 * b + row / c % b) * r2 * c + row % c;
    auto at = [&](long long r) { return base + (r / r2 * b * r2 + r % r2) * c; };
    float sum = 0;
    for (long long r = threadIdx.x; r < count; r += 256) {
        sum += kg::to_float(x[at(r)]);
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[row] = kg::from_float<T_out>(partial[0]);
    }
}
