/*@plan
x = contiguous(self)
axis = dim + x.ndim if dim < 0 else dim
length = x.shape[axis] if x.ndim > 0 else 1
inner = 1
for i in range(axis + 1, x.ndim):
    inner *= x.shape[i]
slices = x.numel // max(length, 1)
launch("scan", grid=cdiv(slices, 32), block=32, args=[x, out0, out1, slices, length, inner])
@*/

// A thread per slice.
extern "C" __global__ void scan(const T_self* __restrict__ in, T_out0* __restrict__ values, long long* __restrict__ indices, long long slices, long long length, long long inner) {
    const long long slice = blockIdx.x * 32ll + threadIdx.x;
    if (slice >= slices) {
        return;
    }
    const long long base = slice / inner * length * inner + slice % inner;
    long long best = 0;
    auto top = kg::to_acc(in[base]);
    for (long long k = 0; k < length; ++k) {
        const auto x = kg::to_acc(in[base + k * inner]);
        if (x >= top || (x != x && top == top)) {
            top = x;
            best = k;
        }
        values[base + k * inner] = in[base + best * inner];
        indices[base + k * inner] = best;
    }
}
