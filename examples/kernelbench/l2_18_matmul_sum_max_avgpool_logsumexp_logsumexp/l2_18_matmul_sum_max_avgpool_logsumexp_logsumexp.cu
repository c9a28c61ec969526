/*@plan
xc = contiguous(x)
wc = contiguous(linear_weight)
bc = contiguous(linear_bias)
b = xc.shape[0]
k = xc.shape[1]
o = wc.shape[0]
vec = define("VEC", 16 // xc.itemsize if min(xc.align, wc.align) >= 16 and k % (16 // xc.itemsize) == 0 else 1)
packs = k // vec
per = cdiv(max(o, 1), min(64, max(o, 1)))
splits = cdiv(max(o, 1), per)
psum = scratch(max(splits * k, 1) * 4)
pcls = scratch(max(splits * k, 1) * 4)
csum = scratch((k + 8) * 4)
ccls = scratch((k + 8) * 4)
bsum = scratch(256)
launch("column_parts", grid=(cdiv(packs, 256), splits), block=256, args=[wc, ptr(psum, 0), ptr(pcls, 0), o, k, per])
launch("combine", grid=cdiv(k, 256) + 1, block=256, args=[ptr(psum, 0), ptr(pcls, 0), bc, ptr(csum, 0), ptr(ccls, 0), ptr(bsum, 0), o, k, splits])
launch("rows", grid=b, block=256, args=[xc, ptr(csum, 0), ptr(ccls, 0), ptr(bsum, 0), out, k if o > 0 else 0])
@*/
// sum over outputs of (x W^T + bias) = x . colsum(W) + sum(bias). The maximum, the mean and both
// logsumexp run over one element and change nothing.
// An infinite x[i] meets every weight of its column one by one: the sum of inf * w is infinite only
// if all weights have one sign, else NaN. The class of a column (1, -1 or NaN) keeps that.
struct alignas(VEC * sizeof(T_linear_weight)) WPack { T_linear_weight v[VEC]; };
struct alignas(VEC * sizeof(T_x)) XPack { T_x v[VEC]; };
struct alignas(VEC * sizeof(float)) FPack { float v[VEC]; };

extern "C" __global__ void __launch_bounds__(256)
column_parts(const T_linear_weight* __restrict__ w, float* __restrict__ psum,
             float* __restrict__ pcls, long long o, long long k, long long per) {
  const long long pack = blockIdx.x * 256LL + threadIdx.x;
  if (pack >= k / VEC) return;
  const long long r0 = blockIdx.y * per;
  const long long r1 = r0 + per < o ? r0 + per : o;
  float s[VEC], lo[VEC], hi[VEC];
#pragma unroll
  for (int j = 0; j < VEC; ++j) {
    s[j] = 0.0f;
    lo[j] = INFINITY;
    hi[j] = -INFINITY;
  }
  const T_linear_weight* p = w + pack * VEC;
#pragma unroll 8
  for (long long r = r0; r < r1; ++r) {
    const WPack v = *reinterpret_cast<const WPack*>(p + r * k);
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
      const float f = kg::to_float(v.v[j]);
      s[j] += f;
      lo[j] = fminf(lo[j], f);
      hi[j] = fmaxf(hi[j], f);
    }
  }
#pragma unroll
  for (int j = 0; j < VEC; ++j) {
    const long long at = blockIdx.y * k + pack * VEC + j;
    psum[at] = s[j];
    pcls[at] = lo[j] > 0.0f ? 1.0f : hi[j] < 0.0f ? -1.0f : NAN;
  }
}

extern "C" __global__ void __launch_bounds__(256)
combine(const float* __restrict__ psum, const float* __restrict__ pcls,
        const T_linear_bias* __restrict__ bias, float* __restrict__ csum,
        float* __restrict__ ccls, float* __restrict__ bsum, long long o, long long k,
        long long splits) {
  __shared__ float part[8];
  if (blockIdx.x + 1 == gridDim.x) {             // the last block adds up the bias
    float s = 0.0f;
    for (long long i = threadIdx.x; i < o; i += 256) s += kg::to_float(bias[i]);
    for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
      float total = 0.0f;
      for (int i = 0; i < 8; ++i) total += part[i];
      bsum[0] = total;
    }
    return;
  }
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= k) return;
  float s = 0.0f;
  float c = pcls[i];
#pragma unroll 8
  for (long long p = 0; p < splits; ++p) {
    s += psum[p * k + i];
    const float d = pcls[p * k + i];
    c = c == d ? c : NAN;
  }
  if (s != s) c = NAN;
  if (o == 0) c = 0.0f;
  csum[i] = s;
  ccls[i] = c;
}

extern "C" __global__ void __launch_bounds__(256)
rows(const T_x* __restrict__ x, const float* __restrict__ csum, const float* __restrict__ ccls,
     const float* __restrict__ bsum, T_out* __restrict__ out, long long k) {
  __shared__ float part[8];
  const T_x* in = x + blockIdx.x * k;
  float s[VEC];
#pragma unroll
  for (int j = 0; j < VEC; ++j) s[j] = 0.0f;
  const long long packs = k / VEC;
#pragma unroll 4
  for (long long p = threadIdx.x; p < packs; p += 256) {
    const XPack v = *reinterpret_cast<const XPack*>(in + p * VEC);
    const FPack c = *reinterpret_cast<const FPack*>(csum + p * VEC);
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
      const float f = kg::to_float(v.v[j]);
      if (fabsf(f) == INFINITY) {
        const float q = ccls[p * VEC + j];
        if (q != 0.0f) s[j] += f * q;            // 0 only without outputs; NaN counts
      } else {
        s[j] = fmaf(f, c.v[j], s[j]);
      }
    }
  }
  float t = 0.0f;
#pragma unroll
  for (int j = 0; j < VEC; ++j) t += s[j];
  for (int d = 16; d > 0; d >>= 1) t += __shfl_xor_sync(0xffffffffu, t, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = t;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int i = 0; i < 8; ++i) total += part[i];
    out[blockIdx.x] = kg::from_float<T_out>(total + bsum[0]);
  }
}
