// Baseline of col2im: a thread per pixel, which looks for the blocks that it lies in.
/*@plan
x = contiguous(self)
height, width = output_size
kernel_y, kernel_x = kernel_size
columns_y = (height + 2 * padding[0] - dilation[0] * (kernel_y - 1) - 1) // stride[0] + 1
columns_x = (width + 2 * padding[1] - dilation[1] * (kernel_x - 1) - 1) // stride[1] + 1
launch("col2im", grid=cdiv(out.numel, 256), block=256,
       args=[x, out, out.numel, height, width, kernel_y, kernel_x, dilation[0], dilation[1],
             padding[0], padding[1], stride[0], stride[1], columns_y, columns_x])
@*/

extern "C" __global__ void col2im(const T_self* __restrict__ self, T_out* __restrict__ out,
                                  long long count, int height, int width, int kernel_y,
                                  int kernel_x, int dilation_y, int dilation_x, int padding_y,
                                  int padding_x, int stride_y, int stride_x, int columns_y,
                                  int columns_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % width;
    const int y = i / width % height;
    const long long plane = i / width / height;
    const T_self* block = self + plane * kernel_y * kernel_x * columns_y * columns_x;
    float sum = 0.0f;
    for (int tap_y = 0; tap_y < kernel_y; ++tap_y) {
        const int from_y = y + padding_y - tap_y * dilation_y;
        if (from_y < 0 || from_y % stride_y != 0 || from_y / stride_y >= columns_y) {
            continue;
        }
        for (int tap_x = 0; tap_x < kernel_x; ++tap_x) {
            const int from_x = x + padding_x - tap_x * dilation_x;
            if (from_x < 0 || from_x % stride_x != 0 || from_x / stride_x >= columns_x) {
                continue;
            }
            const long long row = tap_y * kernel_x + tap_x;
            sum += kg::to_float(block[(row * columns_y + from_y / stride_y) * columns_x + from_x / stride_x]);
        }
    }
    out[i] = kg::from_float<T_out>(sum);
}
