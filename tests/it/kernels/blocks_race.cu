// op: mse_loss  expect: race  every block adds to one number without an atomic
/*@plan
x = contiguous(self)
y = contiguous(target)
n = x.numel
if reduction == 0:
    launch("each", grid=cdiv(n, 256), block=256, args=[x, y, out, n])
else:
    sum = scratch(4, zero=True)
    launch("add_up", grid=cdiv(n, 64) if n > 0 else 1, block=1, args=[x, y, sum, n])
    launch("finish", grid=1, block=1, args=[sum, out, n, reduction == 1])
@*/

extern "C" __global__ void each(const T_self* x, const T_target* y, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float difference = kg::to_float(x[i]) - kg::to_float(y[i]);
        out[i] = kg::from_float<T_out>(difference * difference);
    }
}

extern "C" __global__ void add_up(const T_self* x, const T_target* y, float* sum, long long n) {
    float part = 0.0f;
    for (long long i = blockIdx.x * 64ll; i < n && i < blockIdx.x * 64ll + 64; ++i) {
        const float difference = kg::to_float(x[i]) - kg::to_float(y[i]);
        part += difference * difference;
    }
    *sum += part;
}

extern "C" __global__ void finish(const float* sum, T_out* out, long long n, bool mean) {
    *out = kg::from_float<T_out>(mean ? *sum / n : *sum);
}
