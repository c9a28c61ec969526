// Baseline of take: one thread per output element; indices may count from the back.
/*@plan
x = contiguous(self)
places = contiguous(index)
launch("take", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[x, places, out, out.numel, x.numel])
@*/

extern "C" __global__ void __launch_bounds__(256)
take(const T_self* __restrict__ x, const T_index* __restrict__ index, T_out* __restrict__ out,
     long long n, long long elements) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = index[i];
        out[i] = x[at < 0 ? at + elements : at];
    }
}
