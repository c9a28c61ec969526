// Baseline of upsample_nearest3d: a thread per output element.
/*@plan
x = contiguous(self)
scale_z = scales_d if scales_d != None and scales_d > 0 else 0.0
scale_y = scales_h if scales_h != None and scales_h > 0 else 0.0
scale_x = scales_w if scales_w != None and scales_w > 0 else 0.0
launch("upsample_nearest3d", grid=cdiv(out.numel, 256), block=256,
       args=[x, out, out.numel, x.shape[2], x.shape[3], x.shape[4], out.shape[2], out.shape[3], out.shape[4],
             scale_z, scale_y, scale_x])
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

extern "C" __global__ void upsample_nearest3d(
    const T_self* __restrict__ self, T_out* __restrict__ out, long long count, int in_z, int in_y, int in_x, int out_z, int out_y, int out_x, double scale_z, double scale_y, double scale_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = nearest(i % out_x, in_x, out_x, scale_x);
    const int y = nearest(i / out_x % out_y, in_y, out_y, scale_y);
    const int z = nearest(i / out_x / out_y % out_z, in_z, out_z, scale_z);
    const T_self* plane = self + i / out_x / out_y / out_z * in_z * in_y * in_x;
    out[i] = plane[((z) * in_y + y) * in_x + x];
}
