// op: gelu  expect: passed  the complementary error function avoids the cancellation
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
        float result;
        if (TANH) {
            const float inner = 0.7978845608028654f * (value + 0.044715f * value * value * value);
            result = value / (1.0f + expf(-2.0f * inner));
        } else {
            result = 0.5f * value * erfcf(value * -0.7071067811865476f);
        }
        out[i] = kg::from_float<T_out>(result);
    }
}
