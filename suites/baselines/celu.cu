// Baseline of celu: one element per thread, in f32.
/*@plan
x = contiguous(self)
n = x.numel
launch("each_celu", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n, alpha])
@*/

extern "C" __global__ void __launch_bounds__(256)
each_celu(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, float alpha) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float v = kg::to_float(x[i]);
        out[i] = kg::from_float<T_out>(v > 0.0f ? v : alpha * expm1f(v / alpha));
    }
}
