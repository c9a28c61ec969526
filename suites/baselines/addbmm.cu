// Baseline of addbmm: a thread per element, the products of all matrices summed in order in f32.
/*@plan
a = contiguous(batch1)
b = contiguous(batch2)
c = expand(self, out.shape)
batch, m, k = a.shape
n = b.shape[2]
launch("addbmm", grid=cdiv(out.numel, 256), block=256,
       args=[a, b, c, out, out.numel, batch, m, n, k, f32(alpha), f32(beta)])
@*/

// alpha * product + beta * addend; a factor of 0 leaves its part out, NaN included.
__device__ float blend(float alpha, float product, float beta, float addend) {
    float value = alpha == 0.0f ? 0.0f : alpha * product;
    if (beta != 0.0f) {
        value = fmaf(beta, addend, value);
    }
    return value;
}

extern "C" __global__ void addbmm(const T_batch1* __restrict__ a, const T_batch2* __restrict__ b,
                                  const T_self* __restrict__ c, T_out* __restrict__ out,
                                  long long count, int batch, int m, int n, int k, float alpha,
                                  float beta) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long row = i / n;
    float sum = 0.0f;
    for (int t = 0; t < batch; ++t) {
        const T_batch1* x = a + (static_cast<long long>(t) * m + row) * k;
        const T_batch2* y = b + static_cast<long long>(t) * k * n + i % n;
        for (int l = 0; l < k; ++l) {
            sum = fmaf(kg::to_float(x[l]), kg::to_float(y[static_cast<long long>(l) * n]), sum);
        }
    }
    out[i] = kg::from_float<T_out>(blend(alpha, sum, beta, kg::to_float(c[i])));
}
