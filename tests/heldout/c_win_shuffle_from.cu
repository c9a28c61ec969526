/*@plan
x = contiguous(self)
n = self.ndim
c = out.shape[n - 3]
h = self.shape[n - 2]
w = self.shape[n - 1]
launch("shuffle", grid=min(cdiv(out.numel, 128), 64), block=128, args=[x, out, out.numel, c, h, w, upscale_factor])
@*/

// Walks over the input and writes each element where it belongs.
extern "C" __global__ void shuffle(const T_self* in, T_out* out, long long count, long long c, long long h, long long w, long long r) {
    for (long long i = blockIdx.x * 128ll + threadIdx.x; i < count; i += gridDim.x * 128ll) {
        const long long x = i % w, y = i / w % h, channel = i / w / h % (c * r * r), image = i / w / h / (c * r * r);
        const long long dx = channel % r, dy = channel / r % r, ch = channel / r / r;
        out[((image * c + ch) * h * r + y * r + dy) * w * r + x * r + dx] = in[i];
    }
}
