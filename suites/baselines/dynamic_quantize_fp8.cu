// Baseline of dynamic_quantize_fp8: a block per row finds its largest element, then divides.
/*@plan
x = contiguous(self)
columns = x.shape[-1]
limit = 448 if out0.dtype == "f8e4m3" else 57344
launch("dynamic_quantize_fp8", grid=out1.numel, block=128,
       args=[x, out0, out1, columns, f32(limit)])
@*/

extern "C" __global__ void __launch_bounds__(128)
dynamic_quantize_fp8(const T_self* __restrict__ x, T_out0* __restrict__ out,
                     T_out1* __restrict__ scales, int columns, float limit) {
    __shared__ float partial[128];
    const long long first = static_cast<long long>(blockIdx.x) * columns;
    float largest = 1e-12f;
    for (int column = threadIdx.x; column < columns; column += 128) {
        const float value = fabsf(kg::to_float(x[first + column]));
        // Keeps a NaN.
        largest = value > largest || value != value ? value : largest;
    }
    partial[threadIdx.x] = largest;
    __syncthreads();
    for (int offset = 64; offset > 0; offset /= 2) {
        if (threadIdx.x < offset) {
            const float mine = partial[threadIdx.x];
            const float other = partial[threadIdx.x + offset];
            partial[threadIdx.x] = other > mine || other != other ? other : mine;
        }
        __syncthreads();
    }
    const float scale = partial[0] / limit;
    if (threadIdx.x == 0) {
        scales[blockIdx.x] = scale;
    }
    for (int column = threadIdx.x; column < columns; column += 128) {
        out[first + column] = kg::from_float<T_out0>(kg::to_float(x[first + column]) / scale);
    }
}
