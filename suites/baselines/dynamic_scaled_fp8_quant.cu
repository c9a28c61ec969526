// Baseline of dynamic_scaled_fp8_quant: one block finds the largest element, then each thread divides.
/*@plan
x = contiguous(input)
n = x.numel
launch("find_scale", grid=1, block=128, args=[x, out1, n])
launch("quantise", grid=min(cdiv(n, 128), 16 * sm_count), block=128, args=[x, out1, out0, n])
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
find_scale(const T_input* __restrict__ x, T_out1* __restrict__ scale, long long n) {
    const float largest = block_max(largest_of(x, 0, n, threadIdx.x, 128));
    if (threadIdx.x == 0) {
        scale[0] = largest / 448.0f;
    }
}

extern "C" __global__ void __launch_bounds__(128)
quantise(const T_input* __restrict__ x, const float* __restrict__ scale, T_out0* __restrict__ out,
         long long n) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        out[i] = kg::from_float<T_out0>(kg::to_float(x[i]) / scale[0]);
    }
}
