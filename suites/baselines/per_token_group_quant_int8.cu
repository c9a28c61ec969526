// Baseline of per_token_group_quant_int8: a thread per group finds its largest element, then divides.
/*@plan
x = contiguous(input)
launch("per_token_group_quant_int8", grid=cdiv(out1.numel, 128), block=128,
       args=[x, out0, out1, out1.numel, group_size, f32(eps)])
@*/

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
per_token_group_quant_int8(const T_input* __restrict__ x, T_out0* __restrict__ out,
                           T_out1* __restrict__ scales, long long groups, int size, float eps) {
    const long long group = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
    if (group >= groups) {
        return;
    }
    const long long first = group * size;
    const float largest = largest_of(x, first, size, 0, 1);
    // A comparison, unlike fmaxf, keeps a NaN.
    float scale = (largest < eps ? eps : largest) / 127.0f;
    scales[group] = scale;
    for (int i = 0; i < size; ++i) {
        out[first + i] = to_int8(kg::to_float(x[first + i]) / scale, 0);
    }
}
