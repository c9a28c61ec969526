/*@plan
x = contiguous(self)
n = x.numel
define("ACC", "double" if x.dtype == "f64" else "float")
vec = define("VEC", 4 if x.align >= 4 * x.itemsize else 1)
launch("unary", grid=cdiv(cdiv(n, vec), 64), block=64, args=[x, out, n@ARGS@])
@*/

template <class T>
struct alignas(sizeof(T) * VEC) Pack {
    T at[VEC];
};

extern "C" __global__ void unary(const T_self* in, T_out* out, long long n@PARAMS@) {
    const long long first = (blockIdx.x * 64ll + threadIdx.x) * VEC;
    if (first >= n) {
        return;
    }
    Pack<T_self> from;
    Pack<T_out> to;
    const bool whole = first + VEC <= n;
    if (whole) {
        from = *reinterpret_cast<const Pack<T_self>*>(in + first);
    }
    for (int j = 0; j < VEC && first + j < n; ++j) {
        const ACC x = static_cast<ACC>(whole ? from.at[j] : in[first + j]);
        ACC y;
        @F@
        to.at[j] = static_cast<T_out>(y);
        if (!whole) {
            out[first + j] = to.at[j];
        }
    }
    if (whole) {
        *reinterpret_cast<Pack<T_out>*>(out + first) = to;
    }
}
