// Baseline of rms_norm_static_fp8_quant: a block per row; the row is read again to be normalised.
/*@plan
x = contiguous(input)
w = contiguous(weight)
len_ = x.shape[-1]
launch("rms_norm_static_fp8_quant", grid=x.numel // max(1, len_), block=256,
       args=[x, w, scale, out, len_, f32(epsilon)])
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

extern "C" __global__ void __launch_bounds__(256)
rms_norm_static_fp8_quant(const T_input* __restrict__ x, const T_weight* __restrict__ weight,
                          const float* __restrict__ scale, T_out* __restrict__ out, long long len,
                          float epsilon) {
    __shared__ float norm;
    const long long from = blockIdx.x * len;
    float squares = 0.0f;
    for (long long k = threadIdx.x; k < len; k += blockDim.x) {
        const float value = kg::to_float(x[from + k]);
        squares += value * value;
    }
    squares = block_sum(squares);
    if (threadIdx.x == 0) {
        norm = 1.0f / sqrtf(squares / len + epsilon);
    }
    __syncthreads();
    for (long long k = threadIdx.x; k < len; k += blockDim.x) {
        const float value = kg::to_float(x[from + k]) * norm * kg::to_float(weight[k]);
        out[from + k] = kg::from_float<T_out>(value / scale[0]);
    }
}
