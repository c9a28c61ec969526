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
sums = scratch((8 if x.dtype == "f64" else 4) * max(n, 1), zero=True)
launch("add_up", grid=(cdiv(count, 32), n), block=32, args=[x, sums, n, count, b, r2, c])
launch("convert", grid=cdiv(n, 64), block=64, args=[sums, out, n])
@*/

// Each element is added to its output's sum by an atomic.
extern "C" __global__ void add_up(const T_self* in, ACC* sums, long long n, int count, int b, int r2, int c) {
    const long long o = blockIdx.y;
    const int r = blockIdx.x * 32 + threadIdx.x;
    const long long r1 = count / max(r2, 1);
    const long long base = ((o / c / b) * r1 * b + o / c % b) * r2 * c + o % c;
    auto at = [&](int r) { return base + (static_cast<long long>(r / r2) * b * r2 + r % r2) * c; };
    if (r < count) {
        atomicAdd(&sums[o], static_cast<ACC>(in[at(r)]));
    }
}

extern "C" __global__ void convert(const ACC* sums, T_out* out, long long n) {
    const long long o = blockIdx.x * 64ll + threadIdx.x;
    if (o < n) {
        out[o] = static_cast<T_out>(sums[o]);
    }
}
