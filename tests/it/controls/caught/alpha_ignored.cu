// op: add  expect: wrong_output  forgets alpha
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("add", grid=cdiv(n, 256), block=256, args=[a, b, out, n])
@*/

extern "C" __global__ void add(const T_self* a, const T_other* b, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        out[i] = kg::from_float<T_out>(kg::to_float(a[i]) + kg::to_float(b[i]));
    }
}
