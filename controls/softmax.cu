/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
rows, len_, inner = 1, 1, 1
for i in range(x.ndim):
    if i < d:
        rows *= x.shape[i]
    elif i == d:
        len_ = x.shape[i]
    else:
        inner *= x.shape[i]
n = rows * inner
define("ACC", "double" if x.dtype == "f64" else "float")
launch("softmax", grid=cdiv(n, 32), block=32, args=[x, out, n, len_, inner])
@*/

// A thread per row; the elements of a row lie `inner` apart.
extern "C" __global__ void softmax(const T_self* in, T_out* out, long long n, int len, int inner) {
    const long long row = blockIdx.x * 32ll + threadIdx.x;
    if (row >= n) {
        return;
    }
    const long long base = row / inner * len * inner + row % inner;
    ACC largest = -INFINITY;
    for (int i = 0; i < len; ++i) {
        const ACC x = static_cast<ACC>(in[base + i * inner]);
        largest = x > largest || x != x ? x : largest;
    }
    ACC sum = 0;
    for (int i = 0; i < len; ++i) {
        const ACC e = exp(static_cast<ACC>(in[base + i * inner]) - largest);
        sum = sum + e;
    }
    for (int k = 0; k < len; ++k) {
        const ACC x = static_cast<ACC>(in[base + k * inner]);
        const ACC y = @F@;
        out[base + k * inner] = static_cast<T_out>(y);
    }
}
