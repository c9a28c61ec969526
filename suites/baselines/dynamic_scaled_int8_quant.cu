// Baseline of dynamic_scaled_int8_quant: a block per row finds its largest element, then divides.
/*@plan
x = contiguous(input)
launch("dynamic_scaled_int8_quant", grid=out1.numel, block=128, args=[x, out0, out1, x.shape[-1]])
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

// The nearest integer of 8 bits, to even; NaN gives 0.
__device__ __forceinline__ signed char to_int8(float value, int zero_point) {
    const float sum = rintf(value) + zero_point;
    return value != value ? 0 : static_cast<signed char>(fminf(fmaxf(sum, -128.0f), 127.0f));
}

extern "C" __global__ void __launch_bounds__(128)
dynamic_scaled_int8_quant(const T_input* __restrict__ x, T_out0* __restrict__ out,
                          T_out1* __restrict__ scales, long long columns) {
    const long long first = blockIdx.x * columns;
    const float scale = block_max(largest_of(x, first, columns, threadIdx.x, 128)) / 127.0f;
    if (threadIdx.x == 0) {
        scales[blockIdx.x] = scale;
    }
    for (long long column = threadIdx.x; column < columns; column += 128) {
        const float quotient = scale > 0.0f ? kg::to_float(x[first + column]) / scale : 0.0f;
        out[first + column] = to_int8(quotient, 0);
    }
}
