// Baseline of outer: a thread per element.
/*@plan
launch("outer", grid=cdiv(out.numel, 256), block=256,
       args=[self, vec2, out, out.numel, vec2.numel, self.stride[0], vec2.stride[0]])
@*/

extern "C" __global__ void outer(const T_self* __restrict__ x, const T_vec2* __restrict__ y,
                                 T_out* __restrict__ out, long long count, long long n,
                                 long long x_stride, long long y_stride) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const float value = kg::to_float(x[i / n * x_stride]) * kg::to_float(y[i % n * y_stride]);
    out[i] = kg::from_float<T_out>(value);
}
