// Baseline of _cdist_forward: a thread per pair of rows. Up to two dimensions before the matrices.
/*@plan
require(out.ndim <= 4)
x = x1
y = x2
inner = out.shape[-3] if out.ndim > 2 else 1
x_inner = x.stride[-3] if x.ndim > 2 and x.shape[-3] > 1 else 0
x_outer = x.stride[-4] if x.ndim > 3 and x.shape[-4] > 1 else 0
y_inner = y.stride[-3] if y.ndim > 2 and y.shape[-3] > 1 else 0
y_outer = y.stride[-4] if y.ndim > 3 and y.shape[-4] > 1 else 0
launch("distances", grid=cdiv(out.numel, 256), block=256,
       args=[x, y, out, out.numel, x.shape[-2], y.shape[-2], x.shape[-1], max(1, inner), x_outer, x_inner,
             x.stride[-2], x.stride[-1], y_outer, y_inner, y.stride[-2], y.stride[-1], f32(p)])
@*/

// One more difference of the p-norm.
__device__ float with_gap(float sum, float gap, float p) {
    if (p == 0.0f) {
        return sum + (gap != 0.0f ? 1.0f : 0.0f);
    }
    if (p == INFINITY) {
        return gap != gap || gap > sum ? gap : sum;
    }
    return sum + (p == 1.0f ? gap : p == 2.0f ? gap * gap : powf(gap, p));
}

__device__ float norm_of(float sum, float p) {
    return p == 0.0f || p == 1.0f || p == INFINITY ? sum : p == 2.0f ? sqrtf(sum) : powf(sum, 1.0f / p);
}

extern "C" __global__ void distances(
    const T_x1* __restrict__ x, const T_x2* __restrict__ y, T_out* __restrict__ out, long long count,
    long long m, long long n, long long k, long long inner, long long x_outer, long long x_inner,
    long long x_row, long long x_step, long long y_outer, long long y_inner, long long y_row,
    long long y_step, float p) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long batch = i / n / m;
    const T_x1* left = x + batch / inner * x_outer + batch % inner * x_inner + i / n % m * x_row;
    const T_x2* right = y + batch / inner * y_outer + batch % inner * y_inner + i % n * y_row;
    float sum = 0.0f;
    for (long long l = 0; l < k; ++l) {
        sum = with_gap(sum, fabsf(kg::to_float(left[l * x_step]) - kg::to_float(right[l * y_step])), p);
    }
    out[i] = kg::from_float<T_out>(norm_of(sum, p));
}
