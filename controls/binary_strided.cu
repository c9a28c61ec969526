/*@plan
n = out.numel
define("ACC", "double" if out.dtype == "f64" else "float")
require(out.ndim <= 4)
# Extents and strides of the last four dimensions; 0 where an input repeats.
e1 = out.shape[-3] if out.ndim >= 3 else 1
e2 = out.shape[-2] if out.ndim >= 2 else 1
e3 = out.shape[-1] if out.ndim >= 1 else 1
a0 = self.stride[-4] if self.ndim >= 4 and self.shape[-4] != 1 else 0
a1 = self.stride[-3] if self.ndim >= 3 and self.shape[-3] != 1 else 0
a2 = self.stride[-2] if self.ndim >= 2 and self.shape[-2] != 1 else 0
a3 = self.stride[-1] if self.ndim >= 1 and self.shape[-1] != 1 else 0
b0 = other.stride[-4] if other.ndim >= 4 and other.shape[-4] != 1 else 0
b1 = other.stride[-3] if other.ndim >= 3 and other.shape[-3] != 1 else 0
b2 = other.stride[-2] if other.ndim >= 2 and other.shape[-2] != 1 else 0
b3 = other.stride[-1] if other.ndim >= 1 and other.shape[-1] != 1 else 0
launch("binary", grid=cdiv(n, 128), block=128,
       args=[self, other, out, n, e1, e2, e3, a0, a1, a2, a3, b0, b1, b2, b3@ARGS@])
@*/

// Reads both inputs by their strides, without copies.
extern "C" __global__ void binary(const T_self* in_a, const T_other* in_b, T_out* out, long long n, int e1, int e2, int e3,
                                  int a0, int a1, int a2, int a3, int b0, int b1, int b2, int b3@PARAMS@) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) {
        const int i3 = i % e3;
        const int i2 = i / e3 % e2;
        const int i1 = i / e3 / e2 % e1;
        const int i0 = i / e3 / e2 / e1;
        const ACC a = static_cast<ACC>(in_a[i0 * a0 + i1 * a1 + i2 * a2 + i3 * a3]);
        const ACC b = static_cast<ACC>(in_b[i0 * b0 + i1 * b1 + i2 * b2 + i3 * b3]);
        const ACC y = @F@;
        out[i] = static_cast<T_out>(y);
    }
}
