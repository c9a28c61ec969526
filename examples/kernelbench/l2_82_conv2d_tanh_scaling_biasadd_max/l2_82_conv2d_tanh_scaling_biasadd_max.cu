/*@plan
minb = param("MINB", [2, 1])
b, c, h, w = x.shape[0], x.shape[1], x.shape[2], x.shape[3]
oc = conv_weight.shape[0]
ph, pw = out.shape[2], out.shape[3]
wv = contiguous(conv_weight)
smem = (c * 6 * 260 + c * 9 * 64) * 4
f0 = x.stride[3] == 1 and x.stride[2] % 4 == 0 and x.stride[1] % 4 == 0 and x.stride[0] % 4 == 0
f1 = x.align >= 16 and w % 4 == 0 and pw >= 16 and ph >= 1
f2 = c >= 1 and smem <= 112640 and b >= 1 and b <= 65535 and oc >= 1
if f0 and f1 and f2:
    xt = cdiv(pw, 64)
    launch("conv_pool_fast", grid=(ph * xt, cdiv(oc, 64), b), block=256, smem=smem,
           args=[x, wv, conv_bias, bias, out, c, oc, w, ph, pw, xt,
                 x.stride[0], x.stride[1], x.stride[2], conv_bias.stride[0], bias.stride[0]])
else:
    launch("conv_pool_any", grid=cdiv(out.numel, 256), block=256,
           args=[x, wv, conv_bias, bias, out, out.numel, c, oc, ph, pw,
                 x.stride[0], x.stride[1], x.stride[2], x.stride[3],
                 conv_bias.stride[0], bias.stride[0]])
@*/

__device__ __forceinline__ void copy16(float* to, const float* from, bool valid) {
  const unsigned dst = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;               // the rest of the 16 bytes becomes zero
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(dst), "l"(from), "r"(bytes)
               : "memory");
}

// tanh, the scale 2 and the bias keep the order of values, so they are applied to the maximum
// alone. A block: 64 windows of one pooled row, 64 output channels, all input channels in shared
// memory. A thread: one 4x4 window of 4 channels at a time.
extern "C" __global__ void __launch_bounds__(256, MINB)
conv_pool_fast(const float* __restrict__ x, const float* __restrict__ w,
               const float* __restrict__ conv_bias, const float* __restrict__ bias,
               float* __restrict__ out, int c, int oc, int width, int ph, int pw, int xt,
               long long xs_b, long long xs_c, long long xs_h, long long cb_s, long long b_s) {
  extern __shared__ float4 shared4[];
  float* xs = reinterpret_cast<float*>(shared4);  // [c][6 rows][260]
  float* ws = xs + c * 1560;                      // [16 groups][c * 9 taps][4 channels]
  const int tid = threadIdx.x;
  const int lane = tid & 31, warp = tid >> 5;
  const int py = blockIdx.x / xt;
  const int tile = blockIdx.x - py * xt;
  const int x0 = tile * 256;
  const int oc0 = blockIdx.y * 64;
  const long long batch = blockIdx.z;
  const int kk = c * 9;

  const float* xb = x + batch * xs_b + static_cast<long long>(py) * 4 * xs_h;
  for (int i = tid; i < c * 390; i += 256) {
    const int row = i / 65, q = i - row * 65;
    const int ch = row / 6, r = row - ch * 6;
    const int col = x0 + q * 4;
    const bool in = col < width;
    copy16(xs + i * 4, in ? xb + ch * xs_c + r * xs_h + col : x, in);
  }
  asm volatile("cp.async.commit_group;\n" ::: "memory");
  const float* wb = w + static_cast<long long>(oc0) * kk;
  for (int i = tid; i < 64 * kk; i += 256) {
    const int o = i / kk, k = i - o * kk;
    ws[((o >> 2) * kk + k) * 4 + (o & 3)] = oc0 + o < oc ? wb[i] : 0.0f;
  }
  asm volatile("cp.async.wait_group 0;\n" ::: "memory");
  __syncthreads();

  const int win = (warp & 1) * 32 + lane;         // the window within the tile
  const int px = tile * 64 + win;
#pragma unroll 1
  for (int pass = 0; pass < 4; ++pass) {
    const int group = pass * 4 + (warp >> 1);
    const int o0 = oc0 + group * 4;
    if (o0 >= oc) break;                          // the same for the whole warp; no barrier follows
    float acc[4][4][4];                           // [channel][row][column]
#pragma unroll
    for (int o = 0; o < 4; ++o) {
      const float cb = o0 + o < oc ? conv_bias[(o0 + o) * cb_s] : 0.0f;
#pragma unroll
      for (int y = 0; y < 4; ++y)
#pragma unroll
        for (int e = 0; e < 4; ++e) acc[o][y][e] = cb;
    }
    const float* wp = ws + group * kk * 4;
    const float* xp = xs + win * 4;
#pragma unroll 1
    for (int ch = 0; ch < c; ++ch) {
      float wt[9][4];
#pragma unroll
      for (int k = 0; k < 9; ++k) {
        const float4 f = *reinterpret_cast<const float4*>(wp + k * 4);
        wt[k][0] = f.x;
        wt[k][1] = f.y;
        wt[k][2] = f.z;
        wt[k][3] = f.w;
      }
#pragma unroll
      for (int r = 0; r < 6; ++r) {
        const float4 u = *reinterpret_cast<const float4*>(xp + r * 260);
        const float2 v = *reinterpret_cast<const float2*>(xp + r * 260 + 4);
        const float in[6] = {u.x, u.y, u.z, u.w, v.x, v.y};
#pragma unroll
        for (int ky = 0; ky < 3; ++ky) {
          if (r - ky >= 0 && r - ky < 4) {
#pragma unroll
            for (int kx = 0; kx < 3; ++kx)
#pragma unroll
              for (int o = 0; o < 4; ++o)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                  acc[o][(r - ky) & 3][e] =
                      fmaf(wt[ky * 3 + kx][o], in[e + kx], acc[o][(r - ky) & 3][e]);
          }
        }
      }
      wp += 36;
      xp += 1560;
    }
#pragma unroll
    for (int o = 0; o < 4; ++o) {
      float top = acc[o][0][0];
#pragma unroll
      for (int y = 0; y < 4; ++y)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float v = acc[o][y][e];
          top = v > top || v != v ? v : top;      // NaN wins and stays
        }
      if (o0 + o < oc && px < pw)
        out[((batch * oc + o0 + o) * ph + py) * pw + px] =
            tanhf(top) * 2.0f + bias[(o0 + o) * b_s];
    }
  }
}

// Any strides and sizes: a thread per result.
extern "C" __global__ void __launch_bounds__(256)
conv_pool_any(const float* __restrict__ x, const float* __restrict__ w,
              const float* __restrict__ conv_bias, const float* __restrict__ bias,
              float* __restrict__ out, long long count, long long c, long long oc, long long ph,
              long long pw, long long xs_b, long long xs_c, long long xs_h, long long xs_w,
              long long cb_s, long long b_s) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= count) return;
  const long long q = i / pw;
  const long long px = i - q * pw;
  const long long q2 = q / ph;
  const long long py = q - q2 * ph;
  const long long batch = q2 / oc;
  const long long o = q2 - batch * oc;
  const float* xb = x + batch * xs_b + py * 4 * xs_h + px * 4 * xs_w;
  const float* wb = w + o * c * 9;
  const float cb = conv_bias[o * cb_s];
  float top = 0.0f;
  for (int e = 0; e < 16; ++e) {
    const float* xp = xb + (e / 4) * xs_h + (e % 4) * xs_w;
    const float* wp = wb;
    float sum = cb;
    for (long long ch = 0; ch < c; ++ch) {
#pragma unroll
      for (int k = 0; k < 9; ++k) sum = fmaf(xp[(k / 3) * xs_h + (k % 3) * xs_w], wp[k], sum);
      xp += xs_c;
      wp += 9;
    }
    top = e == 0 || sum > top || sum != sum ? sum : top;
  }
  out[i] = tanhf(top) * 2.0f + bias[o * b_s];
}
