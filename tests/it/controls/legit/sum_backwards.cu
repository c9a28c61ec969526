// op: sum  expect: passed  one thread per output, from the last element to the first
/*@plan
x = contiguous(self)
a, r1, b, r2, c = 1, 1, 1, 1, 1
group = 0
for i in range(x.ndim):
    summed = dim is None or len(dim) == 0 or i in dim or i - x.ndim in dim
    if summed == (group % 2 == 0):
        group += 1
    if group == 0:
        a *= x.shape[i]
    elif group == 1:
        r1 *= x.shape[i]
    elif group == 2:
        b *= x.shape[i]
    elif group == 3:
        r2 *= x.shape[i]
    else:
        c *= x.shape[i]
n = a * b * c
launch("sum", grid=cdiv(n, 64), block=64, args=[x, out, n, r1, b, r2, c])
@*/

extern "C" __global__ void sum(const T_self* x, T_out* out, long long n, long long r1, long long b,
                               long long r2, long long c) {
    const long long o = blockIdx.x * 64ll + threadIdx.x;
    if (o >= n) {
        return;
    }
    const long long ic = o % c;
    const long long ib = o / c % b;
    const long long ia = o / c / b;
    float sum = 0.0f;
    for (long long i = r1 - 1; i >= 0; --i) {
        for (long long j = r2 - 1; j >= 0; --j) {
            sum += kg::to_float(x[(((ia * r1 + i) * b + ib) * r2 + j) * c + ic]);
        }
    }
    out[o] = kg::from_float<T_out>(sum);
}
