// op: mse_loss  expect: uninitialised  threads without an element leave their shared slot unset
/*@plan
x = contiguous(self)
y = contiguous(target)
n = x.numel
if reduction == 0:
    launch("each", grid=cdiv(n, 256), block=256, args=[x, y, out, n])
else:
    launch("total", grid=1, block=256, args=[x, y, out, n, reduction == 1])
@*/

extern "C" __global__ void each(const T_self* x, const T_target* y, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float difference = kg::to_float(x[i]) - kg::to_float(y[i]);
        out[i] = kg::from_float<T_out>(difference * difference);
    }
}

extern "C" __global__ void total(const T_self* x, const T_target* y, T_out* out, long long n,
                                 bool mean) {
    __shared__ float partial[256];
    float sum = 0.0f;
    for (long long i = threadIdx.x; i < n; i += 256) {
        const float difference = kg::to_float(x[i]) - kg::to_float(y[i]);
        sum += difference * difference;
    }
    if (threadIdx.x < n) {
        partial[threadIdx.x] = sum;
    }
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *out = kg::from_float<T_out>(mean ? partial[0] / n : partial[0]);
    }
}
