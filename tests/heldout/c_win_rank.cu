/*@plan
x = contiguous(self)
r = self.ndim
axis = dim + max(r, 1) if dim < 0 else dim
len_ = self.shape[axis] if r > 0 else 1
inner = 1
for d in range(axis + 1, r):
    inner *= self.shape[d]
falling = 1 if @FALLING@ else 0
keep = @KEEP@
launch("rank", grid=cdiv(self.numel, 128), block=128, args=[x, out0, out1, self.numel, len_, inner, keep, falling])
@*/

using A = kg::acc_t<T_self>;

__device__ bool less(A a, A b) {
    return a < b || (b != b && a == a);
}

// Does element ia come before element ib.
__device__ bool before(A a, long long ia, A b, long long ib, int falling) {
    if (falling ? less(b, a) : less(a, b)) {
        return true;
    }
    if (falling ? less(a, b) : less(b, a)) {
        return false;
    }
    return ia < ib;
}

// Each element counts those before it.
extern "C" __global__ void rank(const T_self* x, T_out0* values, long long* places, long long count, long long len, long long inner,
        long long keep, int falling) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long in = i % inner;
    const long long mine = i / inner % len;
    const long long outer = i / inner / len;
    const T_self* line = x + outer * len * inner + in;
    const A value = kg::to_acc(x[i]);
    long long rank = 0;
    for (long long j = 0; j < len; ++j) {
        if (before(kg::to_acc(line[j * inner]), j, value, mine, falling)) {
            ++rank;
        }
    }
    if (rank < keep) {
        values[(outer * keep + rank) * inner + in] = x[i];
        places[(outer * keep + rank) * inner + in] = mine;
    }
}
