// Baseline of cosine_similarity: one thread per row.
/*@plan
nd = max(x1.ndim, x2.ndim)
d = dim if dim >= 0 else dim + nd
shape = x1.shape if x1.ndim == nd else x2.shape
if x1.numel < x2.numel:
    shape = x2.shape
a = expand(x1, shape)
b = expand(x2, shape)
len_ = a.shape[d]
inner = prod(a.shape, d + 1)
n = out.numel
launch("cosine_similarity", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[a, b, out, n, len_, max(1, inner), f32(eps)])
@*/

extern "C" __global__ void __launch_bounds__(256)
cosine_similarity(const T_x1* __restrict__ a, const T_x2* __restrict__ b,
                  T_out* __restrict__ out, long long n, long long len, long long inner,
                  float eps) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long from = i / inner * len * inner + i % inner;
        float left = 0.0f;
        float right = 0.0f;
        for (long long k = 0; k < len; ++k) {
            const float x = kg::to_float(a[from + k * inner]);
            const float y = kg::to_float(b[from + k * inner]);
            left += x * x;
            right += y * y;
        }
        left = sqrtf(left);
        right = sqrtf(right);
        left = left < eps ? eps : left;
        right = right < eps ? eps : right;
        float cosine = 0.0f;
        for (long long k = 0; k < len; ++k) {
            const float x = kg::to_float(a[from + k * inner]);
            const float y = kg::to_float(b[from + k * inner]);
            cosine += x / left * (y / right);
        }
        out[i] = kg::from_float<T_out>(cosine);
    }
}
