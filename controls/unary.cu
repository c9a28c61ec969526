/*@plan
x = contiguous(self)
n = x.numel
define("ACC", "double" if x.dtype == "f64" else "float")
launch("unary", grid=cdiv(n, 128), block=128, args=[x, out, n@ARGS@])
@*/

extern "C" __global__ void unary(const T_self* in, T_out* out, long long n@PARAMS@) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) {
        const ACC x = static_cast<ACC>(in[i]);
        ACC y;
        @F@
        out[i] = static_cast<T_out>(y);
    }
}
