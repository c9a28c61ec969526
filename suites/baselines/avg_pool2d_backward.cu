// Baseline of avg_pool2d_backward: a thread per element adds the windows that hold it up, in f32.
/*@plan
g = contiguous(grad_output)
n = out.numel
kernel_y, kernel_x = kernel_size[0], kernel_size[-1]
stride_y = stride[0] if len(stride) > 0 else kernel_y
stride_x = stride[-1] if len(stride) > 0 else kernel_x
launch("each", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[g, out, n, out.shape[-2], out.shape[-1], g.shape[-2], g.shape[-1], kernel_y, kernel_x,
             stride_y, stride_x, padding[0], padding[-1], count_include_pad,
             divisor_override if has(divisor_override) else 0])
@*/

extern "C" __global__ void __launch_bounds__(256)
each(const T_grad_output* __restrict__ grad, T_out* __restrict__ out, long long n, int in_y, int in_x,
     int out_y, int out_x, int kernel_y, int kernel_x, int stride_y, int stride_x, int padding_y,
     int padding_x, bool padded, int divisor) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const int x = i % in_x, y = i / in_x % in_y;
        const T_grad_output* plane = grad + i / in_x / in_y * out_y * out_x;
        float sum = 0.0f;
        // The last window that may hold the element, and those before it.
        for (int p = min((y + padding_y) / stride_y, out_y - 1); p >= 0; --p) {
            const int top = p * stride_y - padding_y, bottom = min(top + kernel_y, in_y + padding_y);
            if (top + kernel_y <= y) {
                break;
            }
            for (int q = min((x + padding_x) / stride_x, out_x - 1); q >= 0; --q) {
                const int left = q * stride_x - padding_x, right = min(left + kernel_x, in_x + padding_x);
                if (left + kernel_x <= x) {
                    break;
                }
                const int inside = (min(bottom, in_y) - max(top, 0)) * (min(right, in_x) - max(left, 0));
                const int places = padded ? (bottom - top) * (right - left) : inside;
                sum += kg::to_float(plane[p * out_x + q]) / static_cast<float>(divisor != 0 ? divisor : places);
            }
        }
        out[i] = kg::from_float<T_out>(sum);
    }
}
