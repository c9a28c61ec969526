/*@plan
minb = param("MINB", [2, 1])
b, c, h, w = x.shape[0], x.shape[1], x.shape[2], x.shape[3]
oc = conv_weight.shape[0]
oh, ow = out.shape[2], out.shape[3]
wv = conv_weight
f0 = x.stride[3] == 1 and x.stride[2] % 4 == 0 and x.stride[1] % 4 == 0 and x.stride[0] % 4 == 0
f1 = x.align >= 16 and w % 4 == 0 and ow >= 64 and oh >= 1
f2 = c >= 2 and c % 2 == 0 and b >= 1 and b <= 65535 and oc >= 1
if f0 and f1 and f2:
    ot = cdiv(oc, 128)
    xt = cdiv(ow, 128)
    packed = ptr(scratch(ot * c * 9 * 128 * 4), 0)
    launch("pack_weights", grid=cdiv(ot * c * 9 * 128, 256), block=256,
           args=[wv, packed, ot * c * 9 * 128, c * 9, oc,
                 wv.stride[0], wv.stride[1], wv.stride[2], wv.stride[3]])
    launch("conv_fast", grid=(oh * xt, ot, b), block=256,
           args=[x, packed, conv_bias, bias, out, c, oc, w, oh, ow, xt,
                 x.stride[0], x.stride[1], x.stride[2], conv_bias.stride[0], bias.stride[0]])
else:
    launch("conv_any", grid=cdiv(out.numel, 256), block=256,
           args=[x, wv, conv_bias, bias, out, out.numel, c, oc, oh, ow,
                 x.stride[0], x.stride[1], x.stride[2], x.stride[3],
                 wv.stride[0], wv.stride[1], wv.stride[2], wv.stride[3],
                 conv_bias.stride[0], bias.stride[0]])
@*/

// Weights as [tile of 128 output channels][input channel, tap][128], zeros outside.
extern "C" __global__ void __launch_bounds__(256)
pack_weights(const float* __restrict__ w, float* __restrict__ packed, long long count, long long kk,
             long long oc, long long s0, long long s1, long long s2, long long s3) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= count) return;
  const long long q = i / 128;
  const long long tile = q / kk;
  const long long o = tile * 128 + (i - q * 128);
  const long long k = q - tile * kk;
  const long long ch = k / 9;
  const int tap = static_cast<int>(k - ch * 9);
  packed[i] = o < oc ? w[o * s0 + ch * s1 + (tap / 3) * s2 + (tap % 3) * s3] : 0.0f;
}

__device__ __forceinline__ void copy16(float* to, const float* from, bool valid) {
  const unsigned dst = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;               // the rest of the 16 bytes becomes zero
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(dst), "l"(from), "r"(bytes)
               : "memory");
}

// A block: 128 output channels of 128 pixels of one output row; two input channels per stage.
// A thread: 8 consecutive pixels of 8 channels.
extern "C" __global__ void __launch_bounds__(256, MINB)
conv_fast(const float* __restrict__ x, const float* __restrict__ packed,
          const float* __restrict__ conv_bias, const float* __restrict__ bias,
          float* __restrict__ out, int c, int oc, int w, int oh, int ow, int xt,
          long long xs_b, long long xs_c, long long xs_h, long long cb_s, long long b_s) {
  __shared__ __align__(16) float ws[2][2304];     // [2 channels * 9 taps][128]
  __shared__ __align__(16) float xs[2][792];      // [2 channels][3 rows][132]
  const int tid = threadIdx.x;
  const int lane = tid & 31, warp = tid >> 5;
  const int lx = (lane >> 1) & 7, ly = (lane & 1) | ((lane >> 4) << 1);
  const int px = (warp >> 1) * 32 + ly * 8;
  const int oo = (warp & 1) * 64 + lx * 4;        // channels oo.. and oo + 32..
  const int y = blockIdx.x / xt;
  const int x0 = (blockIdx.x - y * xt) * 128;
  const int oc0 = blockIdx.y * 128;
  const long long batch = blockIdx.z;

  const float* wsrc = packed + static_cast<long long>(blockIdx.y) * c * 1152 + tid * 4;
  const int ch = tid / 99, rem = tid % 99, rr = rem / 33, q = rem % 33;
  const int col = x0 + q * 4;
  const bool mine = tid < 198;                    // loads a part of the input patch
  const bool in = mine && col < w;
  const float* xsrc = in ? x + batch * xs_b + ch * xs_c + (y + rr) * xs_h + col : x;
  const long long xstep = in ? 2 * xs_c : 0;

  float acc[8][8] = {};                           // [channel][pixel]
  const int stages = c / 2;

  copy16(&ws[0][tid * 4], wsrc, true);
  copy16(&ws[0][1024 + tid * 4], wsrc + 1024, true);
  if (tid < 64) copy16(&ws[0][2048 + tid * 4], wsrc + 2048, true);
  if (mine) copy16(&xs[0][tid * 4], xsrc, in);
  asm volatile("cp.async.commit_group;\n" ::: "memory");

  for (int t = 0; t < stages; ++t) {
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
    __syncthreads();                              // stage t is here, stage t - 1 used up by all
    if (t + 1 < stages) {
      const int nb = (t + 1) & 1;
      wsrc += 2304;
      xsrc += xstep;
      copy16(&ws[nb][tid * 4], wsrc, true);
      copy16(&ws[nb][1024 + tid * 4], wsrc + 1024, true);
      if (tid < 64) copy16(&ws[nb][2048 + tid * 4], wsrc + 2048, true);
      if (mine) copy16(&xs[nb][tid * 4], xsrc, in);
      asm volatile("cp.async.commit_group;\n" ::: "memory");
    }
    const float* wt = ws[t & 1] + oo;
    const float* xr = xs[t & 1] + px;
#pragma unroll
    for (int r = 0; r < 6; ++r) {                 // two channels, three rows each
      const float4 u0 = *reinterpret_cast<const float4*>(xr + r * 132);
      const float4 u1 = *reinterpret_cast<const float4*>(xr + r * 132 + 4);
      const float2 u2 = *reinterpret_cast<const float2*>(xr + r * 132 + 8);
      const float xv[10] = {u0.x, u0.y, u0.z, u0.w, u1.x, u1.y, u1.z, u1.w, u2.x, u2.y};
#pragma unroll
      for (int kx = 0; kx < 3; ++kx) {
        const float4 w0 = *reinterpret_cast<const float4*>(wt + (r * 3 + kx) * 128);
        const float4 w1 = *reinterpret_cast<const float4*>(wt + (r * 3 + kx) * 128 + 32);
        const float wv[8] = {w0.x, w0.y, w0.z, w0.w, w1.x, w1.y, w1.z, w1.w};
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
          for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(wv[i], xv[j + kx], acc[i][j]);
      }
    }
  }

  __syncthreads();                                // ws becomes a buffer of 8 rows of 36 per warp
  float* buf = &ws[0][0] + warp * 288;
  const int col_out = x0 + (warp >> 1) * 32 + lane;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int sub = (i & 3) + (i >> 2) * 32;
    const int o = oc0 + oo + sub;
    const float cb = o < oc ? conv_bias[o * cb_s] : 0.0f;
    const float add = o < oc ? bias[o * b_s] : 0.0f;
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float s = acc[i][j] + cb;
      v[j] = (s < 0.0f ? 0.0f : s) + add;         // NaN stays NaN
    }
    float* to = buf + lx * 36 + ly * 8;
    *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
    *reinterpret_cast<float4*>(to + 4) = make_float4(v[4], v[5], v[6], v[7]);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int ro = oc0 + (warp & 1) * 64 + r * 4 + sub;
      if (ro < oc && col_out < ow)
        out[((batch * oc + ro) * oh + y) * ow + col_out] = buf[r * 36 + lane];
    }
    __syncwarp();
  }
}

// Any strides and sizes: a thread per result.
extern "C" __global__ void __launch_bounds__(256)
conv_any(const float* __restrict__ x, const float* __restrict__ w,
         const float* __restrict__ conv_bias, const float* __restrict__ bias,
         float* __restrict__ out, long long count, long long c, long long oc, long long oh,
         long long ow, long long xs_b, long long xs_c, long long xs_h, long long xs_w,
         long long ws_o, long long ws_c, long long ws_h, long long ws_w, long long cb_s,
         long long b_s) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= count) return;
  long long q = i / ow;
  const long long px = i - q * ow;
  const long long q2 = q / oh;
  const long long py = q - q2 * oh;
  const long long batch = q2 / oc;
  const long long o = q2 - batch * oc;
  const float* xp = x + batch * xs_b + py * xs_h + px * xs_w;
  const float* wp = w + o * ws_o;
  float sum = 0.0f;
  for (long long ch = 0; ch < c; ++ch) {
#pragma unroll
    for (int ky = 0; ky < 3; ++ky)
#pragma unroll
      for (int kx = 0; kx < 3; ++kx)
        sum = fmaf(xp[ky * xs_h + kx * xs_w], wp[ky * ws_h + kx * ws_w], sum);
    xp += xs_c;
    wp += ws_c;
  }
  sum += conv_bias[o * cb_s];
  out[i] = (sum < 0.0f ? 0.0f : sum) + bias[o * b_s];
}
