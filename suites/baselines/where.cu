// Baseline of where: one element per thread.
/*@plan
a = expand(condition, out.shape)
b = expand(self, out.shape)
c = expand(other, out.shape)
n = out.numel
launch("each_where", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, c, out, n])
@*/

extern "C" __global__ void __launch_bounds__(256)
each_where(const T_condition* __restrict__ a, const T_self* __restrict__ b,
           const T_other* __restrict__ c, T_out* __restrict__ out, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        out[i] = a[i] ? static_cast<T_out>(b[i]) : static_cast<T_out>(c[i]);
    }
}
