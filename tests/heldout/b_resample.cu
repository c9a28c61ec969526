/*@plan
x = contiguous(self)
h, w = self.shape[-2], self.shape[-1]
oh, ow = out.shape[-2], out.shape[-1]
@SHAPE@
launch("resize", grid=cdiv(out.numel, 256), block=256, args=[x, out, out.numel, h, w, oh, ow, corners, gh, gw])
@*/
using T = T_self;
struct Place { long long i, next; float w; };
__device__ __forceinline__ float step(long long in, long long out, double given) {
  return given > 0 ? static_cast<float>(1.0 / given) : static_cast<float>(in) / static_cast<float>(out);
}
__device__ __forceinline__ Place place(long long y, long long in, long long out, int corners, double given) {
  float p;
  if (corners) p = out > 1 ? y * (static_cast<float>(in - 1) / static_cast<float>(out - 1)) : 0.0f;
  else p = fmaxf(step(in, out, given) * (y + 0.5f) - 0.5f, 0.0f);
  const long long i = min(static_cast<long long>(p), in - 1);
  return Place{i, min(i + 1, in - 1), fminf(p - i, 1.0f)};
}
extern "C" __global__ void resize(const T* __restrict__ x, T_out* __restrict__ out, long long total, long long h,
                                  long long w, long long oh, long long ow, int corners, double gh, double gw) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at >= total) return;
  const long long ox = at % ow, oy = at / ow % oh, plane = at / ow / oh;
  const T* from = x + plane * h * w;
@BODY@
}
