// Baseline of im2col: a thread per element of the blocks.
/*@plan
x = contiguous(self)
in_y, in_x = x.shape[-2], x.shape[-1]
kernel_y, kernel_x = kernel_size
columns_x = (in_x + 2 * padding[1] - dilation[1] * (kernel_x - 1) - 1) // stride[1] + 1
launch("im2col", grid=cdiv(out.numel, 256), block=256,
       args=[x, out, out.numel, in_y, in_x, kernel_y, kernel_x, dilation[0], dilation[1],
             padding[0], padding[1], stride[0], stride[1], out.shape[-1], columns_x])
@*/

extern "C" __global__ void im2col(const T_self* __restrict__ self, T_out* __restrict__ out,
                                  long long count, int in_y, int in_x, int kernel_y, int kernel_x,
                                  int dilation_y, int dilation_x, int padding_y, int padding_x,
                                  int stride_y, int stride_x, int columns, int columns_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int column = i % columns;
    const long long row = i / columns;
    const int tap_x = row % kernel_x;
    const int tap_y = row / kernel_x % kernel_y;
    const T_self* plane = self + row / kernel_x / kernel_y * in_y * in_x;
    const int y = column / columns_x * stride_y + tap_y * dilation_y - padding_y;
    const int x = column % columns_x * stride_x + tap_x * dilation_x - padding_x;
    const bool inside = y >= 0 && y < in_y && x >= 0 && x < in_x;
    out[i] = inside ? plane[y * in_x + x] : kg::from_float<T_out>(0.0f);
}
