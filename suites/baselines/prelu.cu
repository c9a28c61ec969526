// Baseline of prelu: one element per thread, in f32; the slope is that of the element's channel.
/*@plan
x = contiguous(self)
channels = weight.numel
inner = prod(x.shape, 2)

launch("prelu", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[x, contiguous(weight), out, out.numel, channels, inner])
@*/

extern "C" __global__ void __launch_bounds__(256)
prelu(const T_self* __restrict__ in, const T_self* __restrict__ weight, T_out* __restrict__ out,
      long long n, long long channels, long long inner) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const float x = kg::to_float(in[i]);
        const float slope = kg::to_float(weight[i / inner % channels]);
        out[i] = kg::from_float<T_out>(x > 0.0f ? x : x * slope);
    }
}
