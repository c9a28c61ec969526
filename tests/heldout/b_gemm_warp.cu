/*@plan
alpha_ = 1.0
beta_ = 1.0
live = 1
@SHAPE@
launch("rows", grid=min(cdiv(batch * m * n, 4), 4096), block=128,
       args=[@A@, @B@, @C@, out, batch * m * n, m, n, k * live, a0, a1, a2, b0, b1, b2, alpha_, beta_])
@*/
// A warp per element, persistent; lanes take every 32nd product.
extern "C" __global__ void __launch_bounds__(128)
rows(const T_@A@* __restrict__ a, const T_@B@* __restrict__ b, const T_@TC@* c, T_out* out, long long total, long long m,
     long long n, long long k, long long a0, long long a1, long long a2, long long b0, long long b1, long long b2,
     float alpha, float beta) {
  const int lane = threadIdx.x % 32;
  for (long long at = blockIdx.x * 4LL + threadIdx.x / 32; at < total; at += gridDim.x * 4LL) {
    const long long col = at % n, row = at / n % m, item = at / n / m;
    const T_@A@* x = a + item * a0 + row * a1;
    const T_@B@* y = b + item * b0 + col * b2;
    float sum = 0;
#pragma unroll 2
    for (long long i = lane; i < k; i += 32) sum = fmaf(kg::to_float(x[i * a2]), kg::to_float(y[i * b1]), sum);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0) {
      float value = alpha * sum;
      if (c) value = fmaf(beta, kg::to_float(c[at]), value);
      out[at] = kg::from_float<T_out>(value);
    }
  }
}
