// Baseline of log: one element per thread, in f32.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_log", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n])
@*/

extern "C" __global__ void __launch_bounds__(256)
each_log(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float v = kg::to_float(x[i]);
        out[i] = kg::from_float<T_out>(logf(v));
    }
}
