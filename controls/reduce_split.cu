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
halves = scratch((8 if x.dtype == "f64" else 4) * max(2 * n, 1))
launch("add_up", grid=(cdiv(n, 64), 2), block=64, args=[x, halves, n, count, b, r2, c])
launch("join", grid=cdiv(n, 64), block=64, args=[halves, out, n])
@*/

// Block row y sums one half of the elements of each output.
extern "C" __global__ void add_up(const T_self* in, ACC* halves, long long n, int count, int b, int r2, int c) {
    const long long o = blockIdx.x * 64ll + threadIdx.x;
    if (o >= n) {
        return;
    }
    const long long r1 = count / max(r2, 1);
    const long long base = ((o / c / b) * r1 * b + o / c % b) * r2 * c + o % c;
    auto at = [&](int r) { return base + (static_cast<long long>(r / r2) * b * r2 + r % r2) * c; };
    const int from = blockIdx.y == 0 ? 0 : count / 2;
    const int to = blockIdx.y == 0 ? count / 2 : count;
    ACC sum = 0;
    for (int r = from; r < to; ++r) {
        sum += static_cast<ACC>(in[at(r)]);
    }
    halves[blockIdx.y * n + o] = sum;
}

extern "C" __global__ void join(const ACC* halves, T_out* out, long long n) {
    const long long o = blockIdx.x * 64ll + threadIdx.x;
    if (o < n) {
        out[o] = static_cast<T_out>(halves[o] + halves[n + o]);
    }
}
