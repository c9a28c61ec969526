/*@plan
x = contiguous(input)
wt = contiguous(weight)
r = input.ndim
@SHAPE@
bias_ = contiguous(bias) if has(bias) else None
launch("conv", grid=min(cdiv(out.numel, 4), 2048), block=128,
       args=[x, wt, bias_, out, out.numel, ci, co, h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw, groups])
@*/
using T = T_input;
struct Sum { float value, lost; };
// A persistent warp per output element: lanes share the products, compensated sums.
extern "C" __global__ void __launch_bounds__(128)
conv(const T* x, const T_weight* wt, const T_bias* bias, T_out* out, long long total, long long ci, long long co,
     long long h, long long w, long long oh, long long ow, long long kh, long long kw, long long sh, long long sw,
     long long ph, long long pw, long long dh, long long dw, long long groups) {
  const long long cig = ci / groups, cog = co / groups, taps = kh * kw;
  for (long long at = blockIdx.x * 4LL + threadIdx.x / 32; at < total; at += gridDim.x * 4LL) {
    const long long ox = at % ow, oy = at / ow % oh, o = at / ow / oh % co, b = at / ow / oh / co, g = o / cog;
    const T* plane = x + (b * ci + g * cig) * h * w;
    const T_weight* mine = wt + (@TRANSPOSED@ ? (g * cig * cog + o % cog) * taps : o * cig * taps);
    float sum = 0;
    for (long long t = threadIdx.x % 32; t < cig * taps; t += 32) {
      const long long c = t / taps, i = t % taps / kw, j = t % kw;
      auto part = [&]() -> float {
        @ROW_LAMBDA@
        if (y < 0 || y >= h || q < 0 || q >= w) return 0.0f;
        return kg::to_float(plane[(c * h + y) * w + q]) * kg::to_float(mine[c * @STEP@ + t % taps]);
      };
      sum += part();
    }
    sum += __shfl_xor_sync(~0u, sum, 16);
    sum += __shfl_xor_sync(~0u, sum, 8);
    sum += __shfl_xor_sync(~0u, sum, 4);
    sum += __shfl_xor_sync(~0u, sum, 2);
    sum += __shfl_xor_sync(~0u, sum, 1);
    if (threadIdx.x % 32 == 31) out[at] = kg::from_float<T_out>(bias ? sum + kg::to_float(bias[o]) : sum);
  }
}
