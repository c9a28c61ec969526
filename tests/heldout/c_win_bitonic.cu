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
if len_ <= 1024:
    launch("bitonic", grid=self.numel // max(len_, 1), block=128, args=[x, out0, out1, len_, inner, keep, falling, next_pow2(max(len_, 1))])
else:
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

// A block per slice of up to 1,024 elements; places from len on are empty and come last.
extern "C" __global__ void bitonic(const T_self* x, T_out0* values, long long* places, long long len, long long inner,
        long long keep, int falling, int size) {
    __shared__ A keys[1024];
    __shared__ int order[1024];
    const long long in = blockIdx.x % inner, outer = blockIdx.x / inner;
    const T_self* line = x + outer * len * inner + in;
    for (int t = threadIdx.x; t < size; t += 128) {
        keys[t] = t < len ? kg::to_acc(line[t * inner]) : A(0);
        order[t] = t;
    }
    __syncthreads();
    for (int span = 2; span <= size; span *= 2) {
        for (int gap = span / 2; gap > 0; gap /= 2) {
            for (int t = threadIdx.x; t < size; t += 128) {
                const int other = t ^ gap;
                if (other > t) {
                    const int p = order[t], q = order[other];
                    const A a = keys[t], b = keys[other];
                    const bool right = q >= len ? true : p >= len ? false : before(a, p, b, q, falling);
                    const bool wrong_way = (t & span) == 0 ? !right : right;
                    if (wrong_way && p != q) {
                        order[t] = q;
                        order[other] = p;
                        keys[t] = b;
                        keys[other] = a;
                    }
                }
            }
            __syncthreads();  // one step after the other
        }
    }
    for (int t = threadIdx.x; t < keep; t += 128) {
        values[(outer * keep + t) * inner + in] = line[order[t] * inner];
        places[(outer * keep + t) * inner + in] = order[t];
    }
}

extern "C" __global__ void rank(const T_self* x, T_out0* values, long long* places, long long count, long long len, long long inner,
        long long keep, int falling) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long in = i % inner, mine = i / inner % len, outer = i / inner / len;
    const T_self* line = x + outer * len * inner + in;
    long long rank = 0;
    for (long long j = 0; j < len; ++j) {
        rank += before(kg::to_acc(line[j * inner]), j, kg::to_acc(x[i]), mine, falling) ? 1 : 0;
    }
    if (rank < keep) {
        values[(outer * keep + rank) * inner + in] = x[i];
        places[(outer * keep + rank) * inner + in] = mine;
    }
}
