// Baseline of _adaptive_avg_pool2d_backward: one thread per output element adds the windows that hold it.
/*@plan
g = contiguous(grad_output)
launch("adaptive_average", grid=cdiv(out.numel, 256), block=256,
       args=[g, out, out.numel, out.shape[-2], out.shape[-1], g.shape[-2], g.shape[-1]])
@*/

__device__ int first_of(int window, int extent, int count) {
    return static_cast<long long>(window) * extent / count;
}

__device__ int end_of(int window, int extent, int count) {
    return (static_cast<long long>(window + 1) * extent + count - 1) / count;
}

extern "C" __global__ void adaptive_average(const T_grad_output* __restrict__ g, T_out* __restrict__ out,
                                            long long n, int in_y, int in_x, int out_y, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const int x = i % in_x;
    const int y = i / in_x % in_y;
    const T_grad_output* plane = g + i / in_x / in_y * out_y * out_x;
    float sum = 0.0f;
    for (int w_y = static_cast<long long>(y) * out_y / in_y; w_y < out_y && first_of(w_y, in_y, out_y) <= y; ++w_y) {
        for (int w_x = static_cast<long long>(x) * out_x / in_x; w_x < out_x && first_of(w_x, in_x, out_x) <= x; ++w_x) {
            const int height = end_of(w_y, in_y, out_y) - first_of(w_y, in_y, out_y);
            const int width = end_of(w_x, in_x, out_x) - first_of(w_x, in_x, out_x);
            sum += kg::to_float(plane[w_y * out_x + w_x]) / (height * width);
        }
    }
    out[i] = kg::from_float<T_out>(sum);
}
