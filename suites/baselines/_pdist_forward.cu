// Baseline of _pdist_forward: a thread per row and another one, of which the later ones count.
/*@plan
n = self.shape[0]
launch("distances", grid=cdiv(n * n, 256), block=256,
       args=[self, out, n, self.shape[1], self.stride[0], self.stride[1], f32(p)])
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

extern "C" __global__ void distances(const T_self* __restrict__ x, T_out* __restrict__ out, long long n,
                                     long long k, long long row, long long step, float p) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n * n || i % n <= i / n) {
        return;
    }
    const long long first = i / n;
    const long long second = i % n;
    float sum = 0.0f;
    for (long long l = 0; l < k; ++l) {
        const float gap = kg::to_float(x[first * row + l * step]) - kg::to_float(x[second * row + l * step]);
        sum = with_gap(sum, fabsf(gap), p);
    }
    out[first * (2 * n - first - 1) / 2 + second - first - 1] = kg::from_float<T_out>(norm_of(sum, p));
}
