// Baseline of pixel_unshuffle: a thread per element of the output.
/*@plan
x = contiguous(self)
launch("pixel_unshuffle", grid=cdiv(out.numel, 256), block=256,
       args=[x, out, out.numel, downscale_factor, out.shape[-2], out.shape[-1]])
@*/

extern "C" __global__ void pixel_unshuffle(const T_self* __restrict__ self, T_out* __restrict__ out,
                                           long long count, int factor, int out_y, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % out_x;
    const int y = i / out_x % out_y;
    const long long plane = i / out_x / out_y;
    const int place = plane % (factor * factor);
    const long long row = plane / (factor * factor) * (static_cast<long long>(out_y) * factor) + y * factor + place / factor;
    out[i] = self[row * out_x * factor + x * factor + place % factor];
}
