/*@plan
a = expand(self, out.shape)
b = expand(end, out.shape)
@PLAN@
n = out.numel
launch("map", grid=cdiv(n, 256), block=256, args=[a, b, @W@, out, n])
@*/

extern "C" __global__ void map(const T_self* __restrict__ from, const T_end* __restrict__ to, @PARAM@, T_out* __restrict__ out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float a = kg::to_float(from[i]);
    const float b = kg::to_float(to[i]);
    const float w = @WEIGHT@;
    const float d = b - a;
    const float y = fabsf(w) < 0.5f ? a + w * d : b - (1.0f - w) * d;
    out[i] = kg::from_float<T_out>(y);
}
