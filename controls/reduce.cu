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
launch("fold", grid=cdiv(n, 64), block=64, args=[x, out, n, count, b, r2, c@ARGS@])
@*/

// `in` is [a, r1, b, r2, c]; output `o` counts through [a, b, c].
extern "C" __global__ void fold(const T_self* in, T_out* out, long long n, int count, int b, int r2, int c@PARAMS@) {
    const long long o = blockIdx.x * 64ll + threadIdx.x;
    if (o >= n) {
        return;
    }
    const long long r1 = count / max(r2, 1);
    const long long base = ((o / c / b) * r1 * b + o / c % b) * r2 * c + o % c;
    auto at = [&](int r) { return base + (static_cast<long long>(r / r2) * b * r2 + r % r2) * c; };
    ACC sum = @START@;
    for (int r = 0; r < count; ++r) {
        const ACC x = static_cast<ACC>(in[at(r)]);
        @STEP@
    }
    ACC y = @END@;
    out[o] = static_cast<T_out>(y);
}
