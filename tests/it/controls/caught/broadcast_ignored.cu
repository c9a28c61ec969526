// op: mul  expect: wrong_output|fault  reads the second input as if it had the shape of the output
/*@plan
a = expand(self, out.shape)
b = contiguous(other)
n = out.numel
launch("mul", grid=cdiv(n, 256), block=256, args=[a, b, out, n, b.numel])
@*/

extern "C" __global__ void mul(const T_self* a, const T_other* b, T_out* out, long long n,
                               long long m) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        out[i] = kg::from_float<T_out>(kg::to_float(a[i]) * kg::to_float(b[i % m]));
    }
}
