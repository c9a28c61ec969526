// Baseline of addr: a thread per element.
/*@plan
c = expand(self, out.shape)
launch("addr", grid=cdiv(out.numel, 256), block=256,
       args=[c, vec1, vec2, out, out.numel, vec2.numel, vec1.stride[0], vec2.stride[0], f32(alpha),
             f32(beta)])
@*/

extern "C" __global__ void addr(const T_self* __restrict__ c, const T_vec1* __restrict__ x,
                                const T_vec2* __restrict__ y, T_out* __restrict__ out, long long count,
                                long long n, long long x_stride, long long y_stride, float alpha,
                                float beta) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    float value = alpha * (kg::to_float(x[i / n * x_stride]) * kg::to_float(y[i % n * y_stride]));
    // A beta of 0 leaves its part out, NaN included.
    if (beta != 0.0f) {
        value = fmaf(beta, kg::to_float(c[i]), value);
    }
    out[i] = kg::from_float<T_out>(value);
}
