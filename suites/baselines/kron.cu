// Baseline of kron: a thread per output element, which finds its place in both tensors.
/*@plan
require(out.ndim <= 4)
x = contiguous(self)
y = contiguous(other)
launch("kron", grid=cdiv(out.numel, 256), block=256,
       args=[x, y, out, out.numel,
             x.shape[-1] if x.ndim > 0 else 1, x.shape[-2] if x.ndim > 1 else 1,
             x.shape[-3] if x.ndim > 2 else 1,
             y.shape[-1] if y.ndim > 0 else 1, y.shape[-2] if y.ndim > 1 else 1,
             y.shape[-3] if y.ndim > 2 else 1, y.shape[-4] if y.ndim > 3 else 1])
@*/

extern "C" __global__ void kron(const T_self* __restrict__ x, const T_other* __restrict__ y,
                                T_out* __restrict__ out, long long count, long long a3, long long a2,
                                long long a1, long long b3, long long b2, long long b1, long long b0) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long p3 = i % (a3 * b3);
    const long long p2 = i / (a3 * b3) % (a2 * b2);
    const long long p1 = i / (a3 * b3) / (a2 * b2) % (a1 * b1);
    const long long p0 = i / (a3 * b3) / (a2 * b2) / (a1 * b1);
    const long long left = ((p0 / b0 * a1 + p1 / b1) * a2 + p2 / b2) * a3 + p3 / b3;
    const long long right = ((p0 % b0 * b1 + p1 % b1) * b2 + p2 % b2) * b3 + p3 % b3;
    const auto product = kg::to_acc(static_cast<T_out>(x[left])) * kg::to_acc(static_cast<T_out>(y[right]));
    out[i] = kg::from_acc<T_out>(product);
}
