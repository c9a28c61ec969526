// op: gelu  expect: wrong_output  a tanh of 11 bits, as tanh.approx gives
/*@plan
x = contiguous(self)
n = x.numel
define("TANH", approximate == "tanh")
launch("gelu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void gelu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float value = kg::to_float(x[i]);
        float tanh;
        if (TANH) {
            const float inner = 0.7978845608028654f * (value + 0.044715f * value * value * value);
            tanh = __uint_as_float((__float_as_uint(tanhf(inner)) + 0x1000u) & 0xffffe000u);
        } else {
            tanh = erff(value * 0.7071067811865476f);
        }
        out[i] = kg::from_float<T_out>(0.5f * value * (1.0f + tanh));
    }
}
