// Baseline of one_hot: one thread per output element.
/*@plan
x = contiguous(self)
n = out.numel
launch("one_hot", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n, num_classes])
@*/

extern "C" __global__ void __launch_bounds__(256)
one_hot(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long classes) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = x[i / classes] == i % classes ? 1 : 0;
    }
}
