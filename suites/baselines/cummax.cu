// Baseline of cummax: a running maximum and its index.
/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
outer = prod(x.shape, 0, d)
len_ = x.shape[d] if x.ndim > 0 else 1
inner = prod(x.shape, d + 1)
n = outer * inner if len_ > 0 else 0
launch("scan", grid=cdiv(n, 64), block=64, args=[x, out0, out1, n, len_, inner])
@*/

// x is [outer, len, inner]; each thread walks one slice.
extern "C" __global__ void scan(const T_self* __restrict__ x, T_out0* __restrict__ values,
                                T_out1* __restrict__ indices,
                                long long n, long long len, long long inner) {
    const long long slice = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (slice >= n) {
        return;
    }
    long long at = slice / inner * len * inner + slice % inner;
    kg::acc_t<T_self> best = kg::to_acc(x[at]);
    long long index = 0;
    for (long long i = 0; i < len; ++i, at += inner) {
        const kg::acc_t<T_self> value = kg::to_acc(x[at]);
        if (value >= best || value != value) {
            best = value;
            index = i;
        }
        values[at] = kg::from_acc<T_out0>(best);
        indices[at] = index;
    }
}
