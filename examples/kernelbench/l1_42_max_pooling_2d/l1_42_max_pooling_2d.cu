/*@plan
xc = contiguous(x)
h = xc.shape[-2]
w = xc.shape[-1]
ho = max(h - 1, 0)
wo = max(w - 1, 0)
planes = prod(xc.shape, 0, xc.ndim - 2)
rows = param("ROWS", [64, 32, 128])
ncol = cdiv(wo, 128)
nrow = cdiv(ho, rows)
units = planes * ncol * nrow
launch("pool", grid=cdiv(units, 4), block=128, args=[xc, out, units, ncol, nrow, h, w, ho, wo])
@*/
// b comes later than a in the window: a stays among equals, NaN wins
__device__ __forceinline__ float later_max(float a, float b) {
  return (b > a || b != b) ? b : a;
}

// A warp makes 128 neighbouring output columns of ROWS output rows.
// Register j of a lane stands for column base + lane + 32 * j.
extern "C" __global__ void __launch_bounds__(128)
pool(const T_x* __restrict__ x, T_out* __restrict__ out, long long units, long long ncol,
     long long nrow, int h, int w, int ho, int wo) {
  const int lane = threadIdx.x & 31;
  const long long unit = blockIdx.x * 4LL + (threadIdx.x >> 5);
  if (unit >= units) return;                     // a whole warp leaves
  const long long rest = unit / ncol;
  const long long plane = rest / nrow;
  const int base = static_cast<int>(unit - rest * ncol) * 128;
  const int row0 = static_cast<int>(rest - plane * nrow) * ROWS;
  const int row1 = min(row0 + ROWS, ho);
  const T_x* in = x + plane * (static_cast<long long>(h) * w);
  T_out* to = out + plane * (static_cast<long long>(ho) * wo);

  bool ok[5];
#pragma unroll
  for (int j = 0; j < 5; ++j) {
    const int c = base + lane + 32 * j - 1;      // input column: one to the left of the output's
    ok[j] = c >= 0 && c < w && (j < 4 || lane < 3);
  }
  float hp[4], ma[4], mb[4];                     // last row; pairs of rows two and one ago
#pragma unroll
  for (int j = 0; j < 4; ++j) hp[j] = ma[j] = mb[j] = -INFINITY;

  const int end = row1 + 2;                      // input rows row0 - 1 .. row1 + 1
  for (int t0 = row0 - 1; t0 < end; t0 += 4) {
    float v[4][5];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int t = t0 + u;
      const bool in_rows = t >= 0 && t < h && t < end;
      const long long at = static_cast<long long>(t) * w + (base + lane - 1);
#pragma unroll
      for (int j = 0; j < 5; ++j) {
        v[u][j] = -INFINITY;
        if (in_rows && ok[j]) v[u][j] = kg::to_float(in[at + 32 * j]);
      }
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int r = t0 + u - 2;                  // the output row that this input row completes
      float s[5], p[5];
#pragma unroll
      for (int j = 0; j < 5; ++j) s[j] = __shfl_sync(0xffffffffu, v[u][j], (lane + 1) & 31);
#pragma unroll
      for (int j = 0; j < 4; ++j) p[j] = later_max(v[u][j], lane == 31 ? s[j + 1] : s[j]);
      p[4] = later_max(v[u][4], s[4]);           // lanes 0 and 1 are used
#pragma unroll
      for (int j = 0; j < 5; ++j) s[j] = __shfl_sync(0xffffffffu, p[j], (lane + 2) & 31);
      const bool store = r >= row0 && r < row1;
      const long long to_at = static_cast<long long>(r) * wo + (base + lane);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float hn = later_max(p[j], lane >= 30 ? s[j + 1] : s[j]);
        const float m = later_max(hp[j], hn);    // rows t - 1 and t
        const float res = later_max(ma[j], m);   // rows t - 3 .. t
        hp[j] = hn;
        ma[j] = mb[j];
        mb[j] = m;
        if (store && base + lane + 32 * j < wo) to[to_at + 32 * j] = kg::from_float<T_out>(res);
      }
    }
  }
}
