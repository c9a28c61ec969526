// op: silu  expect: wrong_output  an exponential of 11 bits
/*@plan
x = contiguous(self)
n = x.numel
launch("silu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void silu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float value = kg::to_float(x[i]);
        const float rounded =
            __uint_as_float(__float_as_uint(expf(-value)) & 0xffffe000u);
        out[i] = kg::from_float<T_out>(value / (1.0f + rounded));
    }
}
