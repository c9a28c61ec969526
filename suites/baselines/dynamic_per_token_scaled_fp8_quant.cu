// Baseline of dynamic_per_token_scaled_fp8_quant: a block per row finds its largest element, then divides.
/*@plan
x = contiguous(input)
launch("dynamic_per_token_scaled_fp8_quant", grid=out1.numel, block=128,
       args=[x, scale_ub, out0, out1, x.shape[-1]])
@*/

// The largest of the 128 threads of the block, a NaN before all, valid in every thread.
__device__ float block_max(float value) {
    __shared__ float partial[128];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int offset = 64; offset > 0; offset /= 2) {
        if (threadIdx.x < offset) {
            const float mine = partial[threadIdx.x];
            const float other = partial[threadIdx.x + offset];
            partial[threadIdx.x] = other > mine || other != other ? other : mine;
        }
        __syncthreads();
    }
    return partial[0];
}

// The largest magnitude of some neighbours, a NaN before all.
__device__ float largest_of(const T_input* x, long long first, long long count, long long from,
                            long long step) {
    float largest = 0.0f;
    for (long long i = from; i < count; i += step) {
        const float value = fabsf(kg::to_float(x[first + i]));
        largest = value > largest || value != value ? value : largest;
    }
    return largest;
}

extern "C" __global__ void __launch_bounds__(128)
dynamic_per_token_scaled_fp8_quant(const T_input* __restrict__ x,
                                   const float* __restrict__ bound, T_out0* __restrict__ out,
                                   T_out1* __restrict__ scales, long long columns) {
    const long long first = blockIdx.x * columns;
    float largest = block_max(largest_of(x, first, columns, threadIdx.x, 128));
    // Comparisons, unlike fminf and fmaxf, keep a NaN.
    if (bound != nullptr && largest > bound[0]) {
        largest = bound[0];
    }
    float scale = largest / 448.0f;
    if (scale < 1.0f / (448.0f * 512.0f)) {
        scale = 1.0f / (448.0f * 512.0f);
    }
    if (threadIdx.x == 0) {
        scales[blockIdx.x] = scale;
    }
    for (long long column = threadIdx.x; column < columns; column += 128) {
        out[first + column] = kg::from_float<T_out0>(kg::to_float(x[first + column]) / scale);
    }
}
