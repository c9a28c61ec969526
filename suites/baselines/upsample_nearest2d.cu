// Baseline of upsample_nearest2d: a thread per point of the output's planes.
/*@plan
x = contiguous(self)
scale_y = scales_h if scales_h != None and scales_h > 0 else 0.0
scale_x = scales_w if scales_w != None and scales_w > 0 else 0.0
planes = x.shape[0] * x.shape[1]
area = out.shape[2] * out.shape[3]
blocks = cdiv(area, 256)
# Each thread copies its point of several planes, as many as leave the device full.
launch("upsample_nearest2d", grid=(blocks, min(planes, 65535, max(1, cdiv(32 * sm_count, max(blocks, 1))))), block=256,
       args=[x, out, planes, x.shape[2], x.shape[3], out.shape[2], out.shape[3], scale_y,
             scale_x])
@*/

// Input elements per output element; a scale of 0 means none was given. A given one is inverted
// before it is rounded, as PyTorch does.
__device__ float step(int extent, int count, double scale) {
    return scale > 0.0 ? static_cast<float>(1.0 / scale)
                       : static_cast<float>(extent) / static_cast<float>(count);
}

__device__ int nearest(int at, int extent, int count, double scale) {
    return min(static_cast<int>(floorf(at * step(extent, count, scale))), extent - 1);
}

extern "C" __global__ void upsample_nearest2d(const T_self* __restrict__ self,
                                              T_out* __restrict__ out, long long planes, int in_y,
                                              int in_x, int out_y, int out_x, double scale_y,
                                              double scale_x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= static_cast<unsigned>(out_x) * out_y) {
        return;
    }
    const int x = nearest(i % out_x, in_x, out_x, scale_x);
    const int y = nearest(i / out_x, in_y, out_y, scale_y);
    self += static_cast<long long>(y) * in_x + x;
    out += i;
    const long long of_self = static_cast<long long>(in_y) * in_x;
    const long long of_out = static_cast<long long>(out_y) * out_x;
    for (long long plane = blockIdx.y; plane < planes; plane += gridDim.y) {
        out[plane * of_out] = self[plane * of_self];
    }
}
