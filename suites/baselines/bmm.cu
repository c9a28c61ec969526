// Baseline of bmm: a thread per element, its products summed in order in f32.
/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape[1], a.shape[2]
n = b.shape[2]
launch("bmm", grid=cdiv(out.numel, 256), block=256, args=[a, b, out, out.numel, m, n, k])
@*/

extern "C" __global__ void bmm(const T_self* __restrict__ a, const T_mat2* __restrict__ b,
                               T_out* __restrict__ out, long long count, int m, int n, int k) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long row = i / n;
    const T_self* x = a + row * k;
    const T_mat2* y = b + row / m * k * n + i % n;
    float sum = 0.0f;
    for (int l = 0; l < k; ++l) {
        sum = fmaf(kg::to_float(x[l]), kg::to_float(y[static_cast<long long>(l) * n]), sum);
    }
    out[i] = kg::from_float<T_out>(sum);
}
