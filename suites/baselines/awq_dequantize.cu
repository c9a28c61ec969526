// Baseline of awq_dequantize: one thread per weight.
/*@plan
q = contiguous(qweight)
s = contiguous(scales)
z = contiguous(qzeros)
launch("awq_dequantize", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[q, s, z, out, out.numel, max(1, out.shape[1]), max(1, out.shape[0] // scales.shape[0])])
@*/

// The weight of a row and column: number i of eight lies from bit 4 * (0 4 1 5 2 6 3 7)[i] on.
__device__ __forceinline__ float weight(const int* q, const T_scales* scales, const int* zeros,
                                        long long row, long long column, long long n,
                                        long long size) {
    const int place = column % 8;
    const int shift = 4 * (place / 2 + place % 2 * 4);
    const long long group = row / size;
    const int value = q[row * (n / 8) + column / 8] >> shift & 15;
    const int zero = zeros[group * (n / 8) + column / 8] >> shift & 15;
    return (value - zero) * kg::to_float(scales[group * n + column]);
}

extern "C" __global__ void __launch_bounds__(256)
awq_dequantize(const int* __restrict__ q, const T_scales* __restrict__ scales,
               const int* __restrict__ zeros, T_out* __restrict__ out, long long count, long long n,
               long long size) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
        out[i] = kg::from_float<T_out>(weight(q, scales, zeros, i / n, i % n, n, size));
    }
}
