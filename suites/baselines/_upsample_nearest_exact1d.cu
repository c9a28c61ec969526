// Baseline of _upsample_nearest_exact1d: a thread per output element.
/*@plan
x = contiguous(self)
scale_x = scales if scales != None and scales > 0 else 0.0
launch("_upsample_nearest_exact1d", grid=cdiv(out.numel, 256), block=256,
       args=[x, out, out.numel, x.shape[2], out.shape[2],
             scale_x])
@*/

// Input elements per output element; a scale of 0 means none was given. A given one is inverted
// before it is rounded, as PyTorch does.
__device__ float step(int extent, int count, double scale) {
    return scale > 0.0 ? static_cast<float>(1.0 / scale)
                       : static_cast<float>(extent) / static_cast<float>(count);
}

__device__ int nearest(int at, int extent, int count, double scale) {
    return min(static_cast<int>(floorf((at + 0.5f) * step(extent, count, scale))), extent - 1);
}

extern "C" __global__ void _upsample_nearest_exact1d(
    const T_self* __restrict__ self, T_out* __restrict__ out, long long count, int in_x, int out_x, double scale_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = nearest(i % out_x, in_x, out_x, scale_x);
    const T_self* plane = self + i / out_x * in_x;
    out[i] = plane[x];
}
