/*@plan
d0 = dim0 + self.ndim if dim0 < 0 else dim0
d1 = dim1 + self.ndim if dim1 < 0 else dim1
lo = min(d0, d1)
hi = max(d0, d1)
x = contiguous(self)
outer, h, middle, w, inner = 1, 1, 1, 1, 1
if self.ndim > 0 and lo != hi:
  h = self.shape[lo]
  w = self.shape[hi]
if lo == hi:
  inner = self.numel
else:
  for i in range(self.ndim):
    if i < lo:
      outer *= self.shape[i]
    elif i > hi:
      inner *= self.shape[i]
    elif i > lo and i < hi:
      middle *= self.shape[i]
tiles = cdiv(h, 32) * cdiv(w, 32)
launch("swap", grid=min(tiles * outer * middle * inner, 1 << 30), block=(32, 8), args=[x, out, outer, h, middle, w, inner])
@*/
// Exchanges two dimensions by padded tiles in shared memory.
extern "C" __global__ void swap(const T_self* __restrict__ x, T_out* __restrict__ out, long long outer, long long h,
                                long long middle, long long w, long long inner) {
  __shared__ T_out tile[32][33];
  long long b = blockIdx.x;
  const long long tw = (w + 31) / 32, th = (h + 31) / 32;
  const long long c0 = b % tw * 32; b /= tw;
  const long long r0 = b % th * 32; b /= th;
  const long long i = b % inner; b /= inner;
  const long long m = b % middle, o = b / middle;
  for (int y = threadIdx.y; y < 32; y += 8)
    if (r0 + y < h && c0 + threadIdx.x < w)
      tile[y][threadIdx.x] = x[(((o * h + r0 + y) * middle + m) * w + c0 + threadIdx.x) * inner + i];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8)
    if (c0 + y < w && r0 + threadIdx.x < h)
      out[(((o * w + c0 + y) * middle + m) * h + r0 + threadIdx.x) * inner + i] = tile[threadIdx.x][y];
}
