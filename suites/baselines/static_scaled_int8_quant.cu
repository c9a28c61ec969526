// Baseline of static_scaled_int8_quant: a thread per element.
/*@plan
x = contiguous(input)
n = x.numel
launch("static_scaled_int8_quant", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, scale, azp, out, n])
@*/

// The nearest integer of 8 bits, to even; NaN counts as 0.
__device__ __forceinline__ signed char to_int8(float value, int zero_point) {
    const float sum = (value != value ? 0.0f : rintf(value)) + zero_point;
    return static_cast<signed char>(fminf(fmaxf(sum, -128.0f), 127.0f));
}

extern "C" __global__ void __launch_bounds__(256)
static_scaled_int8_quant(const T_input* __restrict__ x, const float* __restrict__ scale,
                         const int* __restrict__ azp, T_out* __restrict__ out, long long n) {
    const int zero_point = azp != nullptr ? azp[0] : 0;
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = to_int8(kg::to_float(x[i]) / scale[0], zero_point);
    }
}
