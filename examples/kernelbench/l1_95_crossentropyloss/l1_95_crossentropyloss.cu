/*@plan
p = contiguous(predictions)
rows, cols = p.shape[0], p.shape[1]
vec = define("VEC", 4 if cols % 4 == 0 and p.align >= 16 else 1)
blocks = min(cdiv(rows, 8), 8192)
parts = scratch(max(blocks, 1) * 8)
launch("ce_rows", grid=blocks, block=256, args=[p, targets, ptr(parts, 0), rows, cols, targets.stride[0]])
launch("ce_final", grid=1, block=1024, args=[ptr(parts, 0), out, blocks])
@*/
struct alignas(VEC * 4) Pack { float v[VEC]; };

extern "C" __global__ void __launch_bounds__(256)
ce_rows(const float* __restrict__ x, const T_targets* __restrict__ targets, float2* __restrict__ parts,
        long long rows, long long cols, long long target_stride) {
  __shared__ float loss_of[8];
  __shared__ float count_of[8];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const long long packs = cols / VEC;
  float loss = 0.0f, count = 0.0f;
  for (long long row = blockIdx.x * 8LL + warp; row < rows; row += gridDim.x * 8LL) {
    const long long target = static_cast<long long>(targets[row * target_stride]);
    const float* line = x + row * cols;
    const float picked = target >= 0 && target < cols ? line[target] : NAN;
    const Pack* in = reinterpret_cast<const Pack*>(line);
    float m = -INFINITY, s = 0.0f;
    for (long long i = lane; i < packs; i += 256) {
      Pack p[8];
#pragma unroll
      for (int u = 0; u < 8; ++u) {
#pragma unroll
        for (int k = 0; k < VEC; ++k) p[u].v[k] = -INFINITY;
        if (i + u * 32 < packs) p[u] = in[i + u * 32];
      }
      float top = m;
#pragma unroll
      for (int u = 0; u < 8; ++u)
#pragma unroll
        for (int k = 0; k < VEC; ++k) top = fmaxf(top, p[u].v[k]);
      const float base = top == -INFINITY ? 0.0f : top;
      s *= expf(m - base);
      float add0 = 0.0f, add1 = 0.0f;
#pragma unroll
      for (int u = 0; u < 8; u += 2)
#pragma unroll
        for (int k = 0; k < VEC; ++k) {
          add0 += expf(p[u].v[k] - base);
          add1 += expf(p[u + 1].v[k] - base);
        }
      s += add0 + add1;
      m = top;
    }
    float top = m;
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    s *= m == top ? 1.0f : expf(m - top);
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (target != -100) {                       // the default ignore_index
      loss += logf(s) - (picked - top);
      count += 1.0f;
    }
  }
  if (lane == 0) {
    loss_of[warp] = loss;
    count_of[warp] = count;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    float a = 0.0f, c = 0.0f;
    for (int w = 0; w < 8; ++w) {
      a += loss_of[w];
      c += count_of[w];
    }
    parts[blockIdx.x] = make_float2(a, c);
  }
}

extern "C" __global__ void __launch_bounds__(1024)
ce_final(const float2* __restrict__ parts, float* __restrict__ out, long long blocks) {
  __shared__ double sums[32];
  __shared__ double counts[32];
  double a = 0.0, c = 0.0;
  for (long long i = threadIdx.x; i < blocks; i += 1024) {
    const float2 p = parts[i];
    a += static_cast<double>(p.x);
    c += static_cast<double>(p.y);
  }
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) {
    a += __shfl_xor_sync(0xffffffffu, a, d);
    c += __shfl_xor_sync(0xffffffffu, c, d);
  }
  if ((threadIdx.x & 31) == 0) {
    sums[threadIdx.x >> 5] = a;
    counts[threadIdx.x >> 5] = c;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0.0, n = 0.0;
    for (int w = 0; w < 32; ++w) {
      total += sums[w];
      n += counts[w];
    }
    out[0] = static_cast<float>(total / n);
  }
}
