/*@plan
r = self.ndim
x = contiguous(self)
@SHAPE@
launch("pool", grid=cdiv(out_.numel, 128), block=128,
       args=[x, @OUTS@, out_.numel, h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw, flag, divisor])
@*/
using T = T_self;
@STRUCT@
// A thread per window.
extern "C" __global__ void pool(const T* __restrict__ x, @PARAMS@, long long total, long long h, long long w,
                                long long oh, long long ow, long long kh, long long kw, long long sh, long long sw,
                                long long ph, long long pw, long long dh, long long dw, int flag, long long divisor) {
  const long long at = blockIdx.x * 128LL + threadIdx.x;
  if (at >= total) return;
  const long long ox = at % ow, oy = at / ow % oh, plane = at / ow / oh;
  const T* from = x + plane * h * w;
@WINDOW@
}
