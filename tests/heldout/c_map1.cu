/*@plan
x = contiguous(self)
n = x.numel
@PLAN@
launch("map", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, @ARGS@n])
@*/

// One floating-point input, a grid-stride loop.
extern "C" __global__ void map(const T_self* __restrict__ in, T_out* __restrict__ out, @PARAMS@long long n) {
    const long long step = 256ll * gridDim.x;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += step) {
        const float x = kg::to_float(in[i]);
        const float y = @F@;
        out[i] = kg::from_float<T_out>(y);
    }
}
