/*@plan
block = param("BLOCK", [256, 128, 512])
v = param("SUBS", [4, 2])
rows, n = x.shape[0], x.shape[1]
vx = x.stride[1] == 1 and x.stride[0] % 4 == 0 and x.align >= 16
vm = mask.stride[1] == 1 and mask.stride[0] % 4 == 0 and mask.align >= 4
vec = define("VEC", 1 if vx and vm and n % 4 == 0 else 0)
if n > 0:
    launch("masked_cumsum", grid=rows, block=block,
           args=[x, mask, out, n, x.stride[0], x.stride[1], mask.stride[0], mask.stride[1]])
@*/
extern "C" __global__ void __launch_bounds__(BLOCK)
masked_cumsum(const T_x* __restrict__ x, const T_mask* __restrict__ mask, T_out* __restrict__ out,
              long long n, long long xs0, long long xs1, long long ms0, long long ms1) {
  constexpr int WARPS = BLOCK / 32;
  constexpr int SEG = 128 * SUBS;                    // elements of a warp in a chunk
  __shared__ float tot[2][WARPS];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const long long row = blockIdx.x;
  x += row * xs0;
  mask += row * ms0;
  out += row * n;
  float carry = 0.0f;
  int buf = 0;
  for (long long base = 0; base < n; base += static_cast<long long>(WARPS) * SEG) {
    const long long seg = base + warp * SEG;
    const long long start = seg + lane * 4;
    const bool whole = VEC != 0 && seg + SEG <= n;   // the same for the whole warp
    float v[SUBS][4];
    if (whole) {
      float4 p[SUBS];
      unsigned bits[SUBS];
#pragma unroll
      for (int j = 0; j < SUBS; ++j) {
        p[j] = *reinterpret_cast<const float4*>(x + start + j * 128);
        bits[j] = *reinterpret_cast<const unsigned*>(mask + start + j * 128);
      }
#pragma unroll
      for (int j = 0; j < SUBS; ++j) {                  // a product, not a choice: NaN * 0 is NaN
        v[j][0] = p[j].x * ((bits[j] & 0x000000ffu) ? 1.0f : 0.0f);
        v[j][1] = p[j].y * ((bits[j] & 0x0000ff00u) ? 1.0f : 0.0f);
        v[j][2] = p[j].z * ((bits[j] & 0x00ff0000u) ? 1.0f : 0.0f);
        v[j][3] = p[j].w * ((bits[j] & 0xff000000u) ? 1.0f : 0.0f);
      }
    } else {
#pragma unroll
      for (int j = 0; j < SUBS; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const long long i = start + j * 128 + e;
          v[j][e] = i < n ? kg::to_float(x[i * xs1]) * (mask[i * ms1] ? 1.0f : 0.0f) : 0.0f;
        }
    }
    float run = 0.0f;                                // sum of the warp's elements so far
#pragma unroll
    for (int j = 0; j < SUBS; ++j) {
      v[j][1] += v[j][0];
      v[j][2] += v[j][1];
      v[j][3] += v[j][2];
      float s = v[j][3];
#pragma unroll
      for (int d = 1; d < 32; d <<= 1) {
        const float up = __shfl_up_sync(0xffffffffu, s, d);
        if (lane >= d) s += up;
      }
      float before = __shfl_up_sync(0xffffffffu, s, 1);
      if (lane == 0) before = 0.0f;
      const float total = __shfl_sync(0xffffffffu, s, 31);
      const float off = run + before;
#pragma unroll
      for (int e = 0; e < 4; ++e) v[j][e] += off;
      run += total;
    }
    if (lane == 0) tot[buf][warp] = run;
    __syncthreads();                                 // two buffers: one barrier per chunk is enough
    float pre = carry, all = carry;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
      if (w == warp) pre = all;
      all += tot[buf][w];
    }
    carry = all;
    buf ^= 1;
    if (whole) {
#pragma unroll
      for (int j = 0; j < SUBS; ++j)
        *reinterpret_cast<float4*>(out + start + j * 128) =
            make_float4(v[j][0] + pre, v[j][1] + pre, v[j][2] + pre, v[j][3] + pre);
    } else {
#pragma unroll
      for (int j = 0; j < SUBS; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const long long i = start + j * 128 + e;
          if (i < n) out[i] = kg::from_float<T_out>(v[j][e] + pre);
        }
    }
  }
}
