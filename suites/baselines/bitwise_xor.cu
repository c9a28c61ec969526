// Baseline of bitwise_xor: one element per thread.
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("each_bitwise_xor", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[a, b, out, n])
@*/

extern "C" __global__ void __launch_bounds__(256)
each_bitwise_xor(const T_self* __restrict__ a, const T_other* __restrict__ b,
                 T_out* __restrict__ out, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        out[i] = static_cast<T_out>(a[i]) ^ static_cast<T_out>(b[i]);
    }
}
