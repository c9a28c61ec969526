// op: mse_loss  expect: passed  the last block to finish adds up what all blocks left behind a fence
/*@plan
x = contiguous(self)
y = contiguous(target)
n = x.numel
if reduction == 0:
    launch("each", grid=cdiv(n, 256), block=256, args=[x, y, out, n])
else:
    blocks = cdiv(n, 64) if n > 0 else 1
    parts = scratch(4 * blocks)
    done = scratch(4, zero=True)
    launch("add_up", grid=blocks, block=1, args=[x, y, parts, done, out, n, reduction == 1])
@*/

extern "C" __global__ void each(const T_self* x, const T_target* y, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float difference = kg::to_float(x[i]) - kg::to_float(y[i]);
        out[i] = kg::from_float<T_out>(difference * difference);
    }
}

extern "C" __global__ void add_up(const T_self* x, const T_target* y, volatile float* parts,
                                  unsigned* done, T_out* out, long long n, bool mean) {
    float part = 0.0f;
    for (long long i = blockIdx.x * 64ll; i < n && i < blockIdx.x * 64ll + 64; ++i) {
        const float difference = kg::to_float(x[i]) - kg::to_float(y[i]);
        part += difference * difference;
    }
    parts[blockIdx.x] = part;
    __threadfence();
    if (atomicAdd(done, 1u) == gridDim.x - 1) {
        __threadfence();
        float sum = 0.0f;
        for (unsigned block = 0; block < gridDim.x; ++block) {
            sum += parts[block];
        }
        *out = kg::from_float<T_out>(mean ? sum / n : sum);
    }
}
