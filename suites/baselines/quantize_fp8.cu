// Baseline of quantize_fp8: a thread per element; the conversion rounds to even and saturates.
/*@plan
x = contiguous(self)
columns = x.shape[1] if scale.ndim == 2 else x.numel
each = scale.stride[0] if scale.ndim == 2 else 0
launch("quantize_fp8", grid=cdiv(out.numel, 256), block=256,
       args=[x, scale, out, out.numel, max(columns, 1), each])
@*/

extern "C" __global__ void quantize_fp8(const T_self* __restrict__ x,
                                        const float* __restrict__ scale, T_out* __restrict__ out,
                                        long long count, long long columns, long long each) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    out[i] = kg::from_float<T_out>(kg::to_float(x[i]) / scale[i / columns * each]);
}
