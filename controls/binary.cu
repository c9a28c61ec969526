/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
define("ACC", "double" if out.dtype == "f64" else "float")
launch("binary", grid=cdiv(n, 128), block=128, args=[a, b, out, n@ARGS@])
@*/

extern "C" __global__ void binary(const T_self* in_a, const T_other* in_b, T_out* out, long long n@PARAMS@) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) {
        const ACC a = static_cast<ACC>(in_a[i]);
        const ACC b = static_cast<ACC>(in_b[i]);
        const ACC y = @F@;
        out[i] = static_cast<T_out>(y);
    }
}
