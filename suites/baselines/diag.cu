// Baseline of diag: one thread per output element.
/*@plan
x = contiguous(self)
n = out.numel
down = -diagonal if diagonal < 0 else 0
right = diagonal if diagonal > 0 else 0
if x.ndim == 2:
    launch("diagonal", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
           args=[x, out, n, x.shape[1], down, right])
else:
    launch("matrix", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
           args=[x, out, n, out.shape[1], down, right])
@*/

extern "C" __global__ void __launch_bounds__(256)
diagonal(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long width,
         long long down, long long right) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = x[(i + down) * width + i + right];
    }
}

extern "C" __global__ void __launch_bounds__(256)
matrix(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long width, long long down,
       long long right) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = i / width - down;
        out[i] = at >= 0 && at == i % width - right ? x[at] : kg::from_acc<T_out>(0);
    }
}
