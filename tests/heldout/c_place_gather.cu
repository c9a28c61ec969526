/*@plan
x = contiguous(self)
ix = contiguous(index)
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
t0 = x.stride[0] if x.ndim > 0 and axis != 0 else 0
t1 = x.stride[1] if x.ndim > 1 and axis != 1 else 0
t2 = x.stride[2] if x.ndim > 2 and axis != 2 else 0
t3 = x.stride[3] if x.ndim > 3 and axis != 3 else 0
t4 = x.stride[4] if x.ndim > 4 and axis != 4 else 0
t5 = x.stride[5] if x.ndim > 5 and axis != 5 else 0
t6 = x.stride[6] if x.ndim > 6 and axis != 6 else 0
t7 = x.stride[7] if x.ndim > 7 and axis != 7 else 0
along = x.stride[axis] if x.ndim > 0 else 0
launch("look_up", grid=cdiv(out.numel, 128), block=128, args=[x, ix, out, out.numel, along, e0, e1, e2, e3, e4, e5, e6, e7, t0, t1, t2, t3, t4, t5, t6, t7])
@*/

extern "C" __global__ void look_up(const T_self* x, const T_index* index, T_out* out, long long count, long long along,
        long long e0, long long e1, long long e2, long long e3, long long e4, long long e5, long long e6, long long e7,
        long long t0, long long t1, long long t2, long long t3, long long t4, long long t5, long long t6, long long t7) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    long long rem = i;
    long long from = 0;
    const long long c7 = rem % e7;
    rem /= e7;
    from += c7 * t7;
    const long long c6 = rem % e6;
    rem /= e6;
    from += c6 * t6;
    const long long c5 = rem % e5;
    rem /= e5;
    from += c5 * t5;
    const long long c4 = rem % e4;
    rem /= e4;
    from += c4 * t4;
    const long long c3 = rem % e3;
    rem /= e3;
    from += c3 * t3;
    const long long c2 = rem % e2;
    rem /= e2;
    from += c2 * t2;
    const long long c1 = rem % e1;
    rem /= e1;
    from += c1 * t1;
    const long long c0 = rem % e0;
    rem /= e0;
    from += c0 * t0;
    const long long place = index[i];
    const T_self value = x[from + place * along];
    out[i] = value;
}
