// op: add  expect: passed  multiplies and adds with two roundings
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("add", grid=cdiv(n, 256), block=256, args=[a, b, out, n, alpha])
@*/

extern "C" __global__ void add(const T_self* a, const T_other* b, T_out* out, int n, float alpha) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        const float scaled = __fmul_rn(alpha, kg::to_float(b[i]));
        out[i] = kg::from_float<T_out>(__fadd_rn(kg::to_float(a[i]), scaled));
    }
}
