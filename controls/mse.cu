/*@plan
x = contiguous(self)
y = contiguous(target)
n = x.numel
define("ACC", "double" if x.dtype == "f64" else "float")
if reduction == 0:
    launch("each", grid=cdiv(n, 128), block=128, args=[x, y, out, n])
else:
    launch("whole", grid=1, block=64, args=[x, y, out, n, reduction == 1])
@*/

__device__ ACC loss_of(ACC a, ACC b) {
    const ACC d = a - b;
    return @F@;
}

extern "C" __global__ void each(const T_self* x, const T_target* y, T_out* out, long long n) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) {
        const ACC loss = loss_of(static_cast<ACC>(x[i]), static_cast<ACC>(y[i]));
        out[i] = static_cast<T_out>(loss);
    }
}

// One block: each thread sums every 64th loss, a tree in shared memory adds them up.
extern "C" __global__ void whole(const T_self* x, const T_target* y, T_out* out, long long n, bool mean) {
    __shared__ ACC tree[64];
    const int t = threadIdx.x;
    ACC sum = 0;
    for (long long i = t; i < n; i += 64) {
        sum = sum + loss_of(static_cast<ACC>(x[i]), static_cast<ACC>(y[i]));
    }
    tree[t] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            tree[t] = tree[t] + tree[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        const ACC total = mean ? tree[0] / n : tree[0];
        *out = static_cast<T_out>(total);
    }
}
