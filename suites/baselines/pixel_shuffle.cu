// Baseline of pixel_shuffle: a thread per element of the output.
/*@plan
x = contiguous(self)
launch("pixel_shuffle", grid=cdiv(out.numel, 256), block=256,
       args=[x, out, out.numel, upscale_factor, out.shape[-2], out.shape[-1]])
@*/

extern "C" __global__ void pixel_shuffle(const T_self* __restrict__ self, T_out* __restrict__ out,
                                         long long count, int factor, int out_y, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % out_x;
    const int y = i / out_x % out_y;
    const long long channel = (i / out_x / out_y * factor + y % factor) * factor + x % factor;
    const int in_x = out_x / factor;
    out[i] = self[(channel * (out_y / factor) + y / factor) * in_x + x / factor];
}
