/*@plan
alpha_ = 1.0
beta_ = 1.0
live = 1
@SHAPE@
kk = k * live
parts = max(min(cdiv(kk, 64), 7), 1)
total = batch * m * n
part = scratch(max(total * parts * 4, 4))
launch("partial", grid=(cdiv(total, 128), parts), block=128,
       args=[@A@, @B@, part, total, m, n, kk, cdiv(kk, parts), a0, a1, a2, b0, b1, b2])
launch("finish", grid=cdiv(total, 256), block=256, args=[part, @C@, out, total, parts, alpha_, beta_])
@*/
// The inner dimension split over blocks; partial sums meet in a second launch, in double.
extern "C" __global__ void partial(const T_@A@* __restrict__ a, const T_@B@* __restrict__ b, float* part, long long total,
                                   long long m, long long n, long long k, long long step, long long a0, long long a1,
                                   long long a2, long long b0, long long b1, long long b2) {
  const long long at = blockIdx.x * 128LL + threadIdx.x;
  if (at >= total) return;
  const long long col = at % n, row = at / n % m, item = at / n / m;
  const T_@A@* x = a + item * a0 + row * a1;
  const T_@B@* y = b + item * b0 + col * b2;
  const long long from = blockIdx.y * step, to = from + step < k ? from + step : k;
  float sum = 0, lost = 0;
  for (long long i = to - 1; i >= from; --i) sum = fmaf(kg::to_float(x[i * a2]), kg::to_float(y[i * b1]), sum);
  part[blockIdx.y * total + at] = sum + lost;
}
extern "C" __global__ void finish(const float* __restrict__ part, const T_@TC@* c, T_out* out, long long total, int parts,
                                  float alpha, float beta) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at >= total) return;
  double sum = 0;
  for (int p = 0; p < parts; ++p) sum += part[p * total + at];
  double value = alpha * sum;
  if (c) value += static_cast<double>(beta) * kg::to_float(c[at]);
  out[at] = kg::from_float<T_out>(static_cast<float>(value));
}
