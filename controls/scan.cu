// Running sums, f32 for floats and 64 bits for integers: a thread walks a slice.
/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
outer = prod(x.shape, 0, d)
len_ = x.shape[d] if x.ndim > 0 else 1
inner = prod(x.shape, d + 1)
n = outer * inner if len_ > 0 else 0
launch("scan", grid=cdiv(n, 64), block=64, args=[x, out, n, len_, inner])
@*/

using Acc = kg::acc_t<T_out>;

// x is [outer, len, inner]; each thread walks one slice.
extern "C" __global__ void scan(const T_self* __restrict__ x, T_out* __restrict__ out,
                                long long n, long long len, long long inner) {
    const long long slice = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (slice >= n) {
        return;
    }
    long long at = slice / inner * len * inner + slice % inner;
    Acc total = 0;
    for (long long i = 0; i < len; ++i, at += inner) {
        total += static_cast<Acc>(kg::to_acc(x[at]));
        out[at] = kg::from_acc<T_out>(total);
    }
}
