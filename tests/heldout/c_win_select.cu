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
launch("choose", grid=cdiv(self.numel // max(len_, 1), 64), block=64, args=[x, out0, out1, self.numel // max(len_, 1), len_, inner, keep, falling])
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

// A thread per slice looks for the next element again and again.
extern "C" __global__ void choose(const T_self* x, T_out0* values, long long* places, long long slices, long long len, long long inner,
        long long keep, int falling) {
    const long long t = blockIdx.x * 64ll + threadIdx.x;
    if (t >= slices) {
        return;
    }
    const long long in = t % inner, outer = t / inner;
    const T_self* line = x + outer * len * inner + in;
    long long last = -1;
    for (long long n = 0; n < keep; ++n) {
        long long next = -1;
        for (long long j = 0; j < len; ++j) {
            const A value = kg::to_acc(line[j * inner]);
            const bool open = last < 0 || before(kg::to_acc(line[last * inner]), last, value, j, falling);
            if (open && (next < 0 || before(value, j, kg::to_acc(line[next * inner]), next, falling))) {
                next = j;
            }
        }
        values[(outer * keep + n) * inner + in] = line[next * inner];
        places[(outer * keep + n) * inner + in] = next;
        last = next;
    }
}
