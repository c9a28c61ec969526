/*@plan
x = contiguous(self)
y = contiguous(target)
n = x.numel
define("ACC", "double" if x.dtype == "f64" else "float")
if reduction == 0:
    launch("each", grid=cdiv(n, 128), block=128, args=[x, y, out, n])
else:
    blocks = cdiv(n, 64) if n > 0 else 1
    parts = scratch((8 if x.dtype == "f64" else 4) * blocks)
    done = scratch(4, zero=True)
    launch("add_up", grid=blocks, block=1, args=[x, y, parts, done, out, n, reduction == 1])
@*/

__device__ ACC loss_of(ACC a, ACC b) {
    const ACC d = a - b;
    return @F@;
}

extern "C" __global__ void each(const T_self* x, const T_target* y, T_out* out, long long n) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) {
        out[i] = static_cast<T_out>(loss_of(static_cast<ACC>(x[i]), static_cast<ACC>(y[i])));
    }
}

// The last block to finish adds up what all blocks left behind a fence.
extern "C" __global__ void add_up(const T_self* x, const T_target* y, ACC* parts, unsigned* done, T_out* out,
                                  long long n, bool mean) {
    ACC part = 0;
    for (long long i = blockIdx.x * 64ll; i < n && i < blockIdx.x * 64ll + 64; ++i) {
        part += loss_of(static_cast<ACC>(x[i]), static_cast<ACC>(y[i]));
    }
    parts[blockIdx.x] = part;
    __threadfence();
    if (atomicAdd(done, 1u) == gridDim.x - 1) {
        __threadfence();
        ACC sum = 0;
        for (unsigned block = 0; block < gridDim.x; ++block) {
            sum += parts[block];
        }
        *out = static_cast<T_out>(mean ? sum / n : sum);
    }
}
