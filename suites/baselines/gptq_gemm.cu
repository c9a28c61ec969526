// Baseline of gptq_gemm: one thread per element, its products summed in order.
/*@plan
x = contiguous(a)
q = contiguous(b_q_weight)
z = contiguous(b_gptq_qzeros)
s = contiguous(b_gptq_scales)
groups = contiguous(b_g_idx)
launch("gptq_gemm", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[x, q, z, s, groups, out, out.numel, b_g_idx.numel, max(1, out.shape[1])])
@*/

extern "C" __global__ void __launch_bounds__(256)
gptq_gemm(const T_a* __restrict__ x, const int* __restrict__ q, const int* __restrict__ zeros,
          const T_b_gptq_scales* __restrict__ scales, const int* __restrict__ groups,
          T_out* __restrict__ out, long long count, long long k, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
        const long long column = i % n;
        float sum = 0.0f;
        for (long long row = 0; row < k; ++row) {
            const long long group = groups[row];
            const int value = q[row / 8 * n + column] >> (4 * (row % 8)) & 15;
            const int zero = zeros[group * (n / 8) + column / 8] >> (4 * (column % 8)) & 15;
            const float w = (value - zero - 1) * kg::to_float(scales[group * n + column]);
            sum = fmaf(kg::to_float(x[i / n * k + row]), w, sum);
        }
        out[i] = kg::from_float<T_out>(sum);
    }
}
