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
define("ACC", "double" if x.dtype == "f64" else "float")
launch("fold", grid=cdiv(n, 4), block=(32, 4), args=[x, out, n, count, b, r2, c])
@*/

// A warp per output.
extern "C" __global__ void fold(const T_self* in, T_out* out, long long n, int count, int b, int r2, int c) {
    const long long o = blockIdx.x * 4ll + threadIdx.y;
    if (o >= n) {
        return;
    }
    const long long r1 = count / max(r2, 1);
    const long long base = ((o / c / b) * r1 * b + o / c % b) * r2 * c + o % c;
    auto at = [&](int r) { return base + (static_cast<long long>(r / r2) * b * r2 + r % r2) * c; };
    ACC sum = 0;
    for (int r = threadIdx.x; r < count; r += 32) {
        sum += static_cast<ACC>(in[at(r)]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x == 0) {
        out[o] = static_cast<T_out>(sum);
    }
}
