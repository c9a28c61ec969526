// Baseline of masked_fill.Scalar: one element per thread.
/*@plan
a = expand(self, out.shape)
b = expand(mask, out.shape)
n = out.numel
launch("each_masked_fill__Scalar", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[a, b, out, n, value])
@*/

extern "C" __global__ void __launch_bounds__(256)
each_masked_fill__Scalar(const T_self* __restrict__ a, const T_mask* __restrict__ b,
                         T_out* __restrict__ out, long long n, float value) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        out[i] = b[i] ? static_cast<T_out>(value) : a[i];
    }
}
