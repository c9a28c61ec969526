/*@plan
x = contiguous(input)
wt = contiguous(weight)
r = input.ndim
@SHAPE@
bias_ = contiguous(bias) if has(bias) else None
launch("conv", grid=cdiv(out.numel, 128), block=128,
       args=[x, wt, bias_, out, out.numel, ci, co, h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw, groups])
@*/
using T = T_input;
// A thread per output element; weights of the block's channel come through shared memory where they fit.
extern "C" __global__ void __launch_bounds__(128)
conv(const T* __restrict__ x, const T_weight* __restrict__ wt, const T_bias* __restrict__ bias, T_out* __restrict__ out,
     long long total, long long ci, long long co, long long h, long long w, long long oh, long long ow, long long kh,
     long long kw, long long sh, long long sw, long long ph, long long pw, long long dh, long long dw, long long groups) {
  __shared__ float kept[1152];
  const long long at = blockIdx.x * 128LL + threadIdx.x;
  const long long block_last = min(blockIdx.x * 128LL + 127, total - 1);
  const long long cig = ci / groups, cog = co / groups, taps = kh * kw;
  const long long o_first = blockIdx.x * 128LL / (oh * ow) % co, o_last = block_last / (oh * ow) % co;
  const bool one = blockIdx.x * 128LL / (oh * ow) == block_last / (oh * ow) && cig * taps <= 1152;
  const T_weight* from_w = wt + (@TRANSPOSED@ ? (o_first / cog * cig * cog + o_first % cog) * taps : o_first * cig * taps);
  if (one)
    for (long long i = threadIdx.x; i < cig * taps; i += 128)
      kept[i] = kg::to_float(@TRANSPOSED@ ? from_w[i / taps * cog * taps + i % taps] : from_w[i]);
  __syncthreads();
  if (at >= total) return;
  const long long ox = at % ow, oy = at / ow % oh, o = at / ow / oh % co, b = at / ow / oh / co;
  const long long g = o / cog;
  const T* plane = x + (b * ci + g * cig) * h * w;
  const T_weight* mine = wt + (@TRANSPOSED@ ? (g * cig * cog + o % cog) * taps : o * cig * taps);
  float sum = bias ? kg::to_float(bias[o]) : 0.0f;
  for (long long c = 0; c < cig; ++c)
    for (long long i = 0; i < kh; ++i) {
      @ROW@
      if (y < 0 || y >= h) continue;
      for (long long j = 0; j < kw; ++j) {
        @COLUMN@
        if (q < 0 || q >= w) continue;
        const long long tap = i * kw + j;
        const float v = one ? kept[c * taps + tap] : kg::to_float(mine[c * @STEP@ + tap]);
        sum = fmaf(kg::to_float(plane[(c * h + y) * w + q]), v, sum);
      }
    }
  out[at] = kg::from_float<T_out>(sum);
}
