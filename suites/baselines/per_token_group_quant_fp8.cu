// Baseline of per_token_group_quant_fp8: a thread per group finds its largest element, then divides.
/*@plan
x = contiguous(input)
launch("per_token_group_quant_fp8", grid=cdiv(out1.numel, 128), block=128,
       args=[x, out0, out1, out1.numel, group_size, f32(eps), use_ue8m0])
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

// The smallest power of two that is no less, and no less than 1e-10; NaN and infinity stay.
__device__ float power_above(float scale) {
    scale = scale < 1e-10f ? 1e-10f : scale;
    const unsigned bits = __float_as_uint(scale);
    const bool special = bits >= 0x7f800000u;
    const bool power = (bits & 0x007fffffu) == 0;
    return special || power ? scale : __uint_as_float((bits & 0x7f800000u) + 0x00800000u);
}

extern "C" __global__ void __launch_bounds__(128)
per_token_group_quant_fp8(const T_input* __restrict__ x, T_out0* __restrict__ out,
                          T_out1* __restrict__ scales, long long groups, int size, float eps, bool use_ue8m0) {
    const long long group = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
    if (group >= groups) {
        return;
    }
    const long long first = group * size;
    const float largest = largest_of(x, first, size, 0, 1);
    // A comparison, unlike fmaxf, keeps a NaN.
    float scale = (largest < eps ? eps : largest) / 448.0f;
    if (use_ue8m0) {
        scale = power_above(scale);
    }
    scales[group] = scale;
    for (int i = 0; i < size; ++i) {
        out[first + i] = kg::from_float<T_out0>(kg::to_float(x[first + i]) / scale);
    }
}
