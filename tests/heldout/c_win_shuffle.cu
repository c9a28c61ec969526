/*@plan
x = contiguous(self)
n = self.ndim
c = out.shape[n - 3]
h = self.shape[n - 2]
w = self.shape[n - 1]
launch("shuffle", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, c, h, w, upscale_factor])
@*/

extern "C" __global__ void shuffle(const T_self* in, T_out* out, long long count, long long c, long long h, long long w, long long r) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % (w * r);
    const long long y = i / (w * r) % (h * r);
    const long long ch = i / (w * r) / (h * r) % c;
    const long long image = i / (w * r) / (h * r) / c;
    const long long channel = (ch * r + y % r) * r + x % r;
    const T_self value = in[((image * c * r * r + channel) * h + y / r) * w + x / r];
    out[i] = value;
}
