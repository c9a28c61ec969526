// Baseline of index_put: a copy, then one thread per written element; sums are found by one thread per output element instead, so that they are f32 and need no atomics.
/*@plan
x = contiguous(self)
n = x.numel
masked = define("MASKED", indices[0].dtype == "bool" if has(indices[0]) else False)
if masked:
    mask = contiguous(indices[0])
    launch("put_mask", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
           args=[x, mask, contiguous(values), out, n, max(1, n // max(1, mask.numel)), values.numel,
                 accumulate])
else:
    m = len(indices)
    require(x.ndim <= 4, "more than four dimensions are not supported")
    t0 = contiguous(indices[0])
    t1 = contiguous(indices[1]) if m >= 2 else None
    t2 = contiguous(indices[2]) if m >= 3 else None
    t3 = contiguous(indices[3]) if m >= 4 else None

    # The two dimensions that the index tensors broadcast to, the first indexed dimension, the last.
    b0 = 1
    b1 = 1
    first = -1
    last = -1
    count = 0
    for d in range(m):
        if has(indices[d]):
            t = indices[d]
            require(t.ndim <= 2, "index tensors of more than two dimensions are not supported")
            if t.ndim >= 1 and t.shape[-1] != 1:
                b1 = t.shape[-1]
            if t.ndim >= 2 and t.shape[-2] != 1:
                b0 = t.shape[-2]
            first = d if first < 0 else first
            last = d
            count += 1
    front = last - first + 1 != count
    r0 = 0
    c0 = 0
    if has(t0):
        if t0.ndim >= 1 and t0.shape[-1] != 1:
            c0 = 1
        if t0.ndim >= 2 and t0.shape[-2] != 1:
            r0 = t0.shape[-1]
    r1 = 0
    c1 = 0
    if has(t1):
        if t1.ndim >= 1 and t1.shape[-1] != 1:
            c1 = 1
        if t1.ndim >= 2 and t1.shape[-2] != 1:
            r1 = t1.shape[-1]
    r2 = 0
    c2 = 0
    if has(t2):
        if t2.ndim >= 1 and t2.shape[-1] != 1:
            c2 = 1
        if t2.ndim >= 2 and t2.shape[-2] != 1:
            r2 = t2.shape[-1]
    r3 = 0
    c3 = 0
    if has(t3):
        if t3.ndim >= 1 and t3.shape[-1] != 1:
            c3 = 1
        if t3.ndim >= 2 and t3.shape[-2] != 1:
            r3 = t3.shape[-1]
    e0 = x.shape[0] if x.ndim >= 1 else 1
    e1 = x.shape[1] if x.ndim >= 2 else 1
    e2 = x.shape[2] if x.ndim >= 3 else 1
    e3 = x.shape[3] if x.ndim >= 4 else 1
    # The shape of the selection in up to four dimensions, and the strides of values in it.
    rest = 1
    for d in range(x.ndim):
        if d >= m or not has(indices[d]):
            rest *= x.shape[d]
    k = b0 * b1 * rest
    y = contiguous(values)
    # Values of one element, or of the last dimensions of the selection, repeat.
    launch("copy", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n])
    if accumulate:
        launch("put_add", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
               args=[x, y, out, n, k, max(1, y.numel), t0, t1, t2, t3, r0, r1, r2, r3, c0, c1, c2, c3, b0, b1, e0, e1, e2, e3,
                     first, last, front])
    else:
        launch("put", grid=min(cdiv(k, 256), 16 * sm_count), block=256,
               args=[y, out, k, max(1, y.numel), t0, t1, t2, t3, r0, r1, r2, r3, c0, c1, c2, c3, b0, b1, e0, e1, e2, e3,
                     first, last, front])
@*/

// The tensor itself, before something is written into it.
extern "C" __global__ void __launch_bounds__(256)
copy(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = x[i];
    }
}

#if MASKED
extern "C" __global__ void __launch_bounds__(256)
put_mask(const T_self* __restrict__ x, const T_indices* __restrict__ mask,
         const T_values* __restrict__ values, T_out* __restrict__ out, long long n,
         long long inner, long long count, bool accumulate) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const T_values value = values[i % count];
        const bool adds = accumulate && mask[i / inner];
        out[i] = adds ? kg::from_acc<T_out>(kg::to_acc(x[i]) + kg::to_acc(value))
                      : (mask[i / inner] ? value : x[i]);
    }
}
#else
// The place in the tensor that element i of the selection is: dimensions behind the indexed ones,
// the places that the index tensors choose, dimensions before them.
__device__ long long chosen(long long i, const T_indices* t0, const T_indices* t1, const T_indices* t2, const T_indices* t3,
      long long r0, long long r1, long long r2, long long r3, long long c0, long long c1,
      long long c2, long long c3, long long b0, long long b1, long long e0, long long e1,
      long long e2, long long e3, int first, int last, bool front) {
    const T_indices* index[4] = {t0, t1, t2, t3};
    const long long row[4] = {r0, r1, r2, r3};
    const long long column[4] = {c0, c1, c2, c3};
    const long long extent[4] = {e0, e1, e2, e3};
    long long at[4];
    for (int d = 3; d >= 0; --d) {
        if (index[d] == nullptr && (front || d > last)) {
            at[d] = i % extent[d];
            i /= extent[d];
        }
    }
    const long long b = i % (b0 * b1);
    i /= b0 * b1;
    for (int d = 3; d >= 0; --d) {
        if (index[d] != nullptr) {
            const long long to = index[d][b / b1 * row[d] + b % b1 * column[d]];
            at[d] = to < 0 ? to + extent[d] : to;
        } else if (!front && d < first) {
            at[d] = i % extent[d];
            i /= extent[d];
        }
    }
    return ((at[0] * e1 + at[1]) * e2 + at[2]) * e3 + at[3];
}

extern "C" __global__ void __launch_bounds__(256)
put(const T_values* __restrict__ y, T_out* __restrict__ out, long long n, long long period,
      const T_indices* t0, const T_indices* t1, const T_indices* t2, const T_indices* t3,
      long long r0, long long r1, long long r2, long long r3, long long c0, long long c1,
      long long c2, long long c3, long long b0, long long b1, long long e0, long long e1,
      long long e2, long long e3, int first, int last, bool front) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[chosen(i, t0, t1, t2, t3, r0, r1, r2, r3, c0, c1, c2, c3, b0, b1, e0, e1,
                                    e2, e3, first, last, front)] = y[i % period];
    }
}

extern "C" __global__ void __launch_bounds__(256)
put_add(const T_self* __restrict__ x, const T_values* __restrict__ y, T_out* __restrict__ out,
      long long n, long long k, long long period, const T_indices* t0, const T_indices* t1, const T_indices* t2, const T_indices* t3,
      long long r0, long long r1, long long r2, long long r3, long long c0, long long c1,
      long long c2, long long c3, long long b0, long long b1, long long e0, long long e1,
      long long e2, long long e3, int first, int last, bool front) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        kg::acc_t<T_self> sum = kg::to_acc(x[i]);
        for (long long j = 0; j < k; ++j) {
            if (chosen(j, t0, t1, t2, t3, r0, r1, r2, r3, c0, c1, c2, c3, b0, b1, e0, e1,
                                    e2, e3, first, last, front) == i) {
                sum += kg::to_acc(y[j % period]);
            }
        }
        out[i] = kg::from_acc<T_out>(sum);
    }
}
#endif
