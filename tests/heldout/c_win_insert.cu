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
launch("insert", grid=cdiv(self.numel // max(len_, 1), 64), block=64, args=[x, out0, out1, self.numel // max(len_, 1), len_, inner, falling])
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

// A thread per slice inserts one element after the other into the output.
extern "C" __global__ void insert(const T_self* x, T_out0* values, long long* places, long long slices, long long len, long long inner, int falling) {
    const long long t = blockIdx.x * 64ll + threadIdx.x;
    if (t >= slices) {
        return;
    }
    const long long base = t / inner * len * inner + t % inner;
    for (long long n = 0; n < len; ++n) {
        const T_self value = x[base + n * inner];
        long long at = n;
        while (at > 0 && before(kg::to_acc(value), n, kg::to_acc(values[base + (at - 1) * inner]), places[base + (at - 1) * inner], falling)) {
            values[base + at * inner] = values[base + (at - 1) * inner];
            places[base + at * inner] = places[base + (at - 1) * inner];
            --at;
        }
        values[base + at * inner] = value;
        places[base + at * inner] = n;
    }
}
