// op: gelu  expect: wrong_output  uses the tanh form for both forms
/*@plan
x = contiguous(self)
n = x.numel
launch("gelu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void gelu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float value = kg::to_float(x[i]);
        const float inner = 0.7978845608028654f * (value + 0.044715f * value * value * value);
        out[i] = kg::from_float<T_out>(0.5f * value * (1.0f + tanhf(inner)));
    }
}
