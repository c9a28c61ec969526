// Baseline of topk: an element's place is the number of those that come before it.
/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
outer = prod(x.shape, 0, d)
len_ = x.shape[d] if x.ndim > 0 else 1
inner = prod(x.shape, d + 1)
n = outer * len_ * inner
launch("place", grid=cdiv(n, 128), block=128,
       args=[x, out0, out1, n, len_, k, inner, largest])
@*/

using Acc = kg::acc_t<T_self>;

// NaN is larger than every number.
__device__ bool less(Acc a, Acc b) { return a < b || (b != b && a == a); }

// x is [outer, len, inner], the outputs are [outer, kept, inner]; each thread places one element
// behind all that come before it.
extern "C" __global__ void place(const T_self* __restrict__ x, T_out0* __restrict__ values,
                                 T_out1* __restrict__ indices, long long n, long long len,
                                 long long kept, long long inner, bool descending) {
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= n) {
        return;
    }
    const long long i = at / inner % len;
    const long long slice = at / inner / len;
    const T_self* in = x + slice * len * inner + at % inner;
    const Acc mine = kg::to_acc(x[at]);
    long long rank = 0;
    for (long long j = 0; j < len; ++j) {
        const Acc other = kg::to_acc(in[j * inner]);
        const bool before = descending ? less(mine, other) : less(other, mine);
        const bool after = descending ? less(other, mine) : less(mine, other);
        rank += before || (!after && j < i);
    }
    if (rank < kept) {
        const long long to = (slice * kept + rank) * inner + at % inner;
        values[to] = x[at];
        indices[to] = i;
    }
}
