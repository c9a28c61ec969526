/*@plan
xc = contiguous(x)
w = contiguous(weight)
m, k = xc.shape[0], xc.shape[1]
n = w.shape[0]
vec = define("VEC", 4 if k % 4 == 0 and min(xc.align, w.align) >= 16 else 1)
splits = max(1, min(64, cdiv(n, 32)))
per = cdiv(n, splits)
parts = scratch(max(splits * k * 4, 256))
sums = scratch(max(k * 4, 256))
launch("col_partial", grid=(cdiv(k, 256 * vec), splits), block=256, args=[w, ptr(parts, 0), n, k, per])
launch("col_final", grid=cdiv(k, 32), block=256, args=[ptr(parts, 0), ptr(sums, 0), k, splits])
launch("row_dot", grid=m, block=256, args=[xc, w, ptr(sums, 0), out, n, k])
@*/
struct alignas(VEC * 4) Pack { float v[VEC]; };

// sum over j, k of x[i][k] * w[j][k] is the dot product of x[i] with the column sums of w
extern "C" __global__ void __launch_bounds__(256)
col_partial(const float* __restrict__ w, float* __restrict__ parts, long long n, long long k, long long per) {
  const long long packs = k / VEC;
  const long long c = blockIdx.x * 256LL + threadIdx.x;
  if (c >= packs) return;
  const long long begin = blockIdx.y * per;
  const long long end = begin + per < n ? begin + per : n;
  Pack sum;
#pragma unroll
  for (int e = 0; e < VEC; ++e) sum.v[e] = 0.0f;
  long long j = begin;
  for (; j + 8 <= end; j += 8) {
    Pack p[8];
#pragma unroll
    for (int u = 0; u < 8; ++u) p[u] = reinterpret_cast<const Pack*>(w + (j + u) * k)[c];
#pragma unroll
    for (int e = 0; e < VEC; ++e)
      sum.v[e] += ((p[0].v[e] + p[1].v[e]) + (p[2].v[e] + p[3].v[e])) +
                  ((p[4].v[e] + p[5].v[e]) + (p[6].v[e] + p[7].v[e]));
  }
  for (; j < end; ++j) {
    const Pack p = reinterpret_cast<const Pack*>(w + j * k)[c];
#pragma unroll
    for (int e = 0; e < VEC; ++e) sum.v[e] += p.v[e];
  }
  reinterpret_cast<Pack*>(parts + blockIdx.y * k)[c] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
col_final(const float* __restrict__ parts, float* __restrict__ sums, long long k, long long splits) {
  __shared__ float group_sum[8][32];
  const int lane = threadIdx.x & 31, group = threadIdx.x >> 5;
  const long long c = blockIdx.x * 32LL + lane;
  float s = 0.0f;
  if (c < k)
    for (long long i = group; i < splits; i += 8) s += parts[i * k + c];
  group_sum[group][lane] = s;
  __syncthreads();
  if (group == 0 && c < k) {
    float total = 0.0f;
#pragma unroll
    for (int g = 0; g < 8; ++g) total += group_sum[g][lane];
    sums[c] = total;
  }
}

extern "C" __global__ void __launch_bounds__(256)
row_dot(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ sums,
        float* __restrict__ out, long long n, long long k) {
  __shared__ float part[8];
  const long long row = blockIdx.x;
  const long long packs = k / VEC;
  const Pack* in = reinterpret_cast<const Pack*>(x + row * k);
  float acc[VEC];
#pragma unroll
  for (int e = 0; e < VEC; ++e) acc[e] = 0.0f;
#pragma unroll 4
  for (long long i = threadIdx.x; i < packs; i += 256) {
    const Pack p = in[i];
    const Pack q = reinterpret_cast<const Pack*>(sums)[i];
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      if (fabsf(p.v[e]) == INFINITY) {          // rare: the sign of every single weight matters
        float s = 0.0f;
        for (long long j = 0; j < n; ++j) s = fmaf(p.v[e], w[j * k + i * VEC + e], s);
        acc[e] += s;
      } else {
        acc[e] = fmaf(p.v[e], q.v[e], acc[e]);
      }
    }
  }
  float s = 0.0f;
#pragma unroll
  for (int e = 0; e < VEC; ++e) s += acc[e];
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
#pragma unroll
    for (int g = 0; g < 8; ++g) total += part[g];
    out[row] = (total * 0.5f) * 1.5f;
  }
}
