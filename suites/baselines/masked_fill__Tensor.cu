// Baseline of masked_fill.Tensor: one element per thread.
/*@plan
a = expand(self, out.shape)
b = expand(mask, out.shape)
n = out.numel
launch("each_masked_fill__Tensor", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[a, b, value, out, n])
@*/

extern "C" __global__ void __launch_bounds__(256)
each_masked_fill__Tensor(const T_self* __restrict__ a, const T_mask* __restrict__ b,
                         const T_value* __restrict__ c, T_out* __restrict__ out, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        out[i] = b[i] ? static_cast<T_out>(*c) : a[i];
    }
}
