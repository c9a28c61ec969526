/*@plan
x = contiguous(self)
y = contiguous(target)
n, c = x.shape
define("ACC", "double" if x.dtype == "f64" else "float")
losses = scratch((8 if x.dtype == "f64" else 4) * max(n, 1))
launch("rows", grid=cdiv(n, 32), block=32, args=[x, y, losses, n, c, ignore_index, label_smoothing])
if reduction == 0:
    launch("each", grid=cdiv(n, 32), block=32, args=[losses, out, n])
else:
    launch("whole", grid=1, block=1, args=[losses, y, out, n, ignore_index, reduction == 1])
@*/

// A thread per row.
extern "C" __global__ void rows(const T_self* in, const T_target* target, ACC* losses, long long n, int c,
                                long long ignore_index, ACC smoothing) {
    const long long row = blockIdx.x * 32ll + threadIdx.x;
    if (row >= n) {
        return;
    }
    const long long wanted = target[row];
    if (wanted == ignore_index) {
        losses[row] = 0;
        return;
    }
    const T_self* x = in + row * c;
    ACC largest = -INFINITY;
    for (int j = 0; j < c; ++j) {
        largest = fmax(largest, static_cast<ACC>(x[j]));
    }
    ACC sum = 0;
    ACC all = 0;
    for (int i = 0; i < c; ++i) {
        const ACC d = static_cast<ACC>(x[i]) - largest;
        sum = sum + exp(d);
        all = all + d;
    }
    const ACC log_sum = log(sum);
    ACC loss = log_sum - (static_cast<ACC>(x[wanted]) - largest);
    if (smoothing != 0) {
        loss = (1 - smoothing) * loss + smoothing * (log_sum - all / c);
    }
    losses[row] = loss;
}

extern "C" __global__ void each(const ACC* losses, T_out* out, long long n) {
    const long long i = blockIdx.x * 32ll + threadIdx.x;
    if (i < n) {
        out[i] = static_cast<T_out>(losses[i]);
    }
}

extern "C" __global__ void whole(const ACC* losses, const T_target* target, T_out* out, long long n, long long ignore_index, bool mean) {
    ACC total = 0;
    ACC count = 0;
    for (long long i = 0; i < n; ++i) {
        total = total + losses[i];
        count += target[i] == ignore_index ? 0 : 1;
    }
    *out = static_cast<T_out>(mean ? total / count : total);
}
