/*@plan
x = contiguous(self)
r = self.ndim
h = self.shape[r - 2]
w = self.shape[r - 1]
oh = out.shape[r - 2]
ow = out.shape[r - 1]
launch("pool", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, h, w, oh, ow])
@*/

__device__ long long begin(long long y, long long in, long long out) {
    return y * in / out;
}
__device__ long long end(long long y, long long in, long long out) {
    return ((y + 1) * in + out - 1) / out;
}

extern "C" __global__ void pool(const T_self* in, T_out* out, long long count, long long h, long long w, long long oh, long long ow) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long x = i % ow;
    const long long y = i / ow % oh;
    const T_self* plane = in + i / ow / oh * h * w;
    const long long ya = begin(y, h, oh), yb = end(y, h, oh), xa = begin(x, w, ow), xb = end(x, w, ow);
    const long long divisor = (yb - ya) * (xb - xa);
    float sum = 0;
    long long taken = 0;
    for (long long iy = ya; iy < yb; ++iy) {
        for (long long ix = xa; ix < xb; ++ix) {
            ++taken;
            sum += kg::to_float(plane[iy * w + ix]);
        }
    }
    const float mean = sum / static_cast<float>(divisor);
    out[i] = kg::from_float<T_out>(mean);
}
