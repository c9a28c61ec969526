// Baseline of fatrelu_and_mul: one thread per output element.
/*@plan
x = contiguous(self)
n = out.numel
launch("fatrelu_and_mul", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, f32(threshold), out, n, max(1, out.shape[-1])])
@*/

extern "C" __global__ void __launch_bounds__(256)
fatrelu_and_mul(const T_self* __restrict__ x, float threshold, T_out* __restrict__ out, long long n,
                long long width) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at = i / width * 2 * width + i % width;
        const float first = kg::to_float(x[at]);
        const float second = kg::to_float(x[at + width]);
        out[i] = kg::from_float<T_out>((first > threshold ? first : 0.0f) * second);
    }
}
