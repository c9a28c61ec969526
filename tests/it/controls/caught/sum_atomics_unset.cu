// op: sum  expect: uninitialised  adds to scratch memory that nothing has cleared
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
partial = scratch(4 * n)
launch("gather", grid=cdiv(n * r1 * r2, 64), block=64, args=[x, partial, n * r1 * r2, r1, b, r2, c])
launch("finish", grid=cdiv(n, 64), block=64, args=[partial, out, n])
@*/

extern "C" __global__ void gather(const T_self* x, float* partial, long long total, long long r1,
                                  long long b, long long r2, long long c) {
    const long long i = blockIdx.x * 64ll + threadIdx.x;
    if (i < total) {
        const long long ic = i % c;
        const long long ib = i / c / r2 % b;
        const long long ia = i / c / r2 / b / r1;
        atomicAdd(&partial[(ia * b + ib) * c + ic], kg::to_float(x[i]));
    }
}

extern "C" __global__ void finish(const float* partial, T_out* out, long long n) {
    const long long o = blockIdx.x * 64ll + threadIdx.x;
    if (o < n) {
        out[o] = kg::from_float<T_out>(partial[o]);
    }
}
