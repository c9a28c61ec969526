// op: cross_entropy_loss  expect: passed  one thread per row, one thread for the sum
/*@plan
x = contiguous(self)
y = contiguous(target)
n, c = x.shape
losses = scratch(4 * n)
launch("rows", grid=cdiv(n, 64), block=64, args=[x, y, losses, n, c, ignore_index, label_smoothing])
if reduction == 0:
    launch("each", grid=cdiv(n, 64), block=64, args=[losses, out, n])
else:
    launch("total", grid=1, block=1, args=[losses, y, out, n, ignore_index, reduction == 1])
@*/

extern "C" __global__ void rows(const T_self* x, const T_target* y, float* losses, long long n, int c,
                                long long ignore_index, float e) {
    const long long row = blockIdx.x * 64ll + threadIdx.x;
    if (row >= n) {
        return;
    }
    x += row * c;
    if (y[row] == ignore_index) {
        losses[row] = 0.0f;
        return;
    }
    float maximum = -INFINITY;
    for (int i = 0; i < c; ++i) {
        maximum = fmaxf(maximum, kg::to_float(x[i]));
    }
    float sum = 0.0f;
    for (int i = 0; i < c; ++i) {
        sum += expf(kg::to_float(x[i]) - maximum);
    }
    const float log_sum = logf(sum);
    float loss = -(kg::to_float(x[y[row]]) - maximum - log_sum);
    if (e != 0.0f) {
        float shifted = 0.0f;
        for (int i = 0; i < c; ++i) {
            shifted += kg::to_float(x[i]) - maximum - log_sum;
        }
        loss = (1.0f - e) * loss - e / c * shifted;
    }
    losses[row] = loss;
}

extern "C" __global__ void each(const float* losses, T_out* out, long long n) {
    const long long row = blockIdx.x * 64ll + threadIdx.x;
    if (row < n) {
        out[row] = kg::from_float<T_out>(losses[row]);
    }
}

extern "C" __global__ void total(const float* losses, const T_target* y, T_out* out, long long n,
                                 long long ignore_index, bool mean) {
    float sum = 0.0f;
    long long count = 0;
    for (long long row = 0; row < n; ++row) {
        sum += losses[row];
        count += y[row] != ignore_index;
    }
    *out = kg::from_float<T_out>(mean ? sum / count : sum);
}
