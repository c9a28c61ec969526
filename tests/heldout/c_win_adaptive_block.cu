/*@plan
x = contiguous(self)
r = self.ndim
h = self.shape[r - 2]
w = self.shape[r - 1]
oh = out.shape[r - 2]
ow = out.shape[r - 1]
launch("pool", grid=out.numel, block=64, args=[x, out, h, w, oh, ow])
@*/

// A block per output: threads share the window, a tree adds up.
extern "C" __global__ void pool(const T_self* in, T_out* out, long long h, long long w, long long oh, long long ow) {
    __shared__ float tree[64];
    const long long i = blockIdx.x;
    const long long x = i % ow, y = i / ow % oh;
    const T_self* plane = in + i / ow / oh * h * w;
    const long long ya = y * h / oh, yb = ((y + 1) * h + oh - 1) / oh, xa = x * w / ow, xb = ((x + 1) * w + ow - 1) / ow;
    const long long wide = xb - xa;
    const long long all = (yb - ya) * wide;
    float sum = 0;
    for (long long t = threadIdx.x; t < all; t += 64) {
        sum += kg::to_float(plane[(ya + t / wide) * w + xa + t % wide]);
    }
    tree[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            tree[threadIdx.x] += tree[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[i] = kg::from_float<T_out>(tree[0] / static_cast<float>(all));
    }
}
