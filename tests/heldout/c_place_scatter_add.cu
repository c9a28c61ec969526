/*@plan
x = contiguous(self)
ix = contiguous(index)
y = contiguous(src)
r = index.ndim
axis = dim + max(self.ndim, 1) if dim < 0 else dim
e0 = index.shape[0] if r > 0 else 1
e1 = index.shape[1] if r > 1 else 1
e2 = index.shape[2] if r > 2 else 1
e3 = index.shape[3] if r > 3 else 1
e4 = index.shape[4] if r > 4 else 1
e5 = index.shape[5] if r > 5 else 1
e6 = index.shape[6] if r > 6 else 1
e7 = index.shape[7] if r > 7 else 1
t0 = y.stride[0] if y.ndim > 0 else 0
t1 = y.stride[1] if y.ndim > 1 else 0
t2 = y.stride[2] if y.ndim > 2 else 0
t3 = y.stride[3] if y.ndim > 3 else 0
t4 = y.stride[4] if y.ndim > 4 else 0
t5 = y.stride[5] if y.ndim > 5 else 0
t6 = y.stride[6] if y.ndim > 6 else 0
t7 = y.stride[7] if y.ndim > 7 else 0
o0 = out.stride[0] if out.ndim > 0 and axis != 0 else 0
o1 = out.stride[1] if out.ndim > 1 and axis != 1 else 0
o2 = out.stride[2] if out.ndim > 2 and axis != 2 else 0
o3 = out.stride[3] if out.ndim > 3 and axis != 3 else 0
o4 = out.stride[4] if out.ndim > 4 and axis != 4 else 0
o5 = out.stride[5] if out.ndim > 5 and axis != 5 else 0
o6 = out.stride[6] if out.ndim > 6 and axis != 6 else 0
o7 = out.stride[7] if out.ndim > 7 and axis != 7 else 0
along = out.stride[axis] if out.ndim > 0 else 0
sums = scratch(max(out.numel, 1) * 8)
launch("begin", grid=cdiv(out.numel, 128), block=128, args=[x, ptr(sums, 0), out.numel])
launch("add", grid=cdiv(ix.numel, 128), block=128, args=[ix, y, ptr(sums, 0), ix.numel, along, e0, e1, e2, e3, e4, e5, e6, e7, t0, t1, t2, t3, t4, t5, t6, t7, o0, o1, o2, o3, o4, o5, o6, o7])
launch("finish", grid=cdiv(out.numel, 128), block=128, args=[ptr(sums, 0), out, out.numel])
@*/

using A = kg::acc_t<T_out>;

__device__ void add_to(float* at, float value) {
    atomicAdd(at, value);
}
__device__ void add_to(double* at, double value) {
    atomicAdd(at, value);
}
__device__ void add_to(long long* at, long long value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
}

extern "C" __global__ void begin(const T_self* x, A* sums, long long count) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < count) {
        sums[i] = static_cast<A>(kg::to_acc(x[i]));
    }
}

extern "C" __global__ void finish(const A* sums, T_out* out, long long count) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < count) {
        out[i] = kg::from_acc<T_out>(static_cast<kg::acc_t<T_out>>(sums[i]));
    }
}

extern "C" __global__ void add(const T_index* index, const T_src* src, A* sums, long long count, long long along,
        long long e0, long long e1, long long e2, long long e3, long long e4, long long e5, long long e6, long long e7,
        long long t0, long long t1, long long t2, long long t3, long long t4, long long t5, long long t6, long long t7,
        long long o0, long long o1, long long o2, long long o3, long long o4, long long o5, long long o6, long long o7) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    long long rem = i;
    long long from = 0;
    long long to = 0;
    const long long c7 = rem % e7;
    rem /= e7;
    from += c7 * t7;
    to += c7 * o7;
    const long long c6 = rem % e6;
    rem /= e6;
    from += c6 * t6;
    to += c6 * o6;
    const long long c5 = rem % e5;
    rem /= e5;
    from += c5 * t5;
    to += c5 * o5;
    const long long c4 = rem % e4;
    rem /= e4;
    from += c4 * t4;
    to += c4 * o4;
    const long long c3 = rem % e3;
    rem /= e3;
    from += c3 * t3;
    to += c3 * o3;
    const long long c2 = rem % e2;
    rem /= e2;
    from += c2 * t2;
    to += c2 * o2;
    const long long c1 = rem % e1;
    rem /= e1;
    from += c1 * t1;
    to += c1 * o1;
    const long long c0 = rem % e0;
    rem /= e0;
    from += c0 * t0;
    to += c0 * o0;
    const A value = static_cast<A>(kg::to_acc(src[from]));
    add_to(&sums[to + index[i] * along], value);
}
