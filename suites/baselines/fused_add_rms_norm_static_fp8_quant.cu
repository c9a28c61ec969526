// Baseline of fused_add_rms_norm_static_fp8_quant: a block per row; the rounded sum is made again to be normalised.
/*@plan
x = contiguous(input)
r = contiguous(residual)
w = contiguous(weight)
len_ = x.shape[-1]
launch("fused_add_rms_norm_static_fp8_quant", grid=x.numel // max(1, len_), block=256,
       args=[x, r, w, scale, out0, out1, len_, f32(epsilon)])
@*/

// The sum over the 256 threads of the block, valid in thread 0.
__device__ float block_sum(float value) {
    __shared__ float partial[8];
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; ++warp) {
            value += partial[warp];
        }
    }
    return value;
}

// The sum as it is stored.
__device__ __forceinline__ T_out1 rounded_sum(T_input x, T_residual y) {
    return kg::from_float<T_out1>(kg::to_float(x) + kg::to_float(y));
}

extern "C" __global__ void __launch_bounds__(256)
fused_add_rms_norm_static_fp8_quant(const T_input* __restrict__ x, const T_residual* __restrict__ residual,
                                    const T_weight* __restrict__ weight, const float* __restrict__ scale,
                                    T_out0* __restrict__ out,
                                    T_out1* __restrict__ total, long long len, float eps) {
    __shared__ float norm;
    const long long from = blockIdx.x * len;
    float squares = 0.0f;
    for (long long k = threadIdx.x; k < len; k += blockDim.x) {
        const T_out1 sum = rounded_sum(x[from + k], residual[from + k]);
        total[from + k] = sum;
        squares += kg::to_float(sum) * kg::to_float(sum);
    }
    squares = block_sum(squares);
    if (threadIdx.x == 0) {
        norm = 1.0f / sqrtf(squares / len + eps);
    }
    __syncthreads();
    for (long long k = threadIdx.x; k < len; k += blockDim.x) {
        const float sum = kg::to_float(rounded_sum(x[from + k], residual[from + k]));
        const float value = sum * norm * kg::to_float(weight[k]);
        out[from + k] = kg::from_float<T_out0>(value / scale[0]);
    }
}
