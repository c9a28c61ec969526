// Baseline of max_pool2d_with_indices_backward: a thread per element adds, in f32, the gradients of the windows
// that may hold it and whose index is its position.
/*@plan
g = contiguous(grad_output)
places = contiguous(indices)
n = out.numel
kernel_y, kernel_x = kernel_size[0], kernel_size[-1]
stride_y = stride[0] if len(stride) > 0 else kernel_y
stride_x = stride[-1] if len(stride) > 0 else kernel_x
launch("each", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[g, places, out, n, out.shape[-2], out.shape[-1], g.shape[-2], g.shape[-1],
             dilation[0] * (kernel_y - 1) + 1, dilation[-1] * (kernel_x - 1) + 1, stride_y, stride_x,
             padding[0], padding[-1]])
@*/

extern "C" __global__ void __launch_bounds__(256)
each(const T_grad_output* __restrict__ grad, const T_indices* __restrict__ indices,
     T_out* __restrict__ out, long long n, int in_y, int in_x, int out_y, int out_x, int reach_y,
     int reach_x, int stride_y, int stride_x, int padding_y, int padding_x) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const int x = i % in_x, y = i / in_x % in_y;
        const long long plane = i / in_x / in_y * out_y * out_x;
        float sum = 0.0f;
        // The last window that may hold the element, and those before it.
        for (int p = min((y + padding_y) / stride_y, out_y - 1); p >= 0; --p) {
            if (p * stride_y - padding_y + reach_y <= y) {
                break;
            }
            for (int q = min((x + padding_x) / stride_x, out_x - 1); q >= 0; --q) {
                if (q * stride_x - padding_x + reach_x <= x) {
                    break;
                }
                const long long at = plane + static_cast<long long>(p) * out_x + q;
                if (indices[at] == static_cast<long long>(y) * in_x + x) {
                    sum += kg::to_float(grad[at]);
                }
            }
        }
        out[i] = kg::from_float<T_out>(sum);
    }
}
