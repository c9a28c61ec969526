/*@plan
xc = contiguous(x)
wa = contiguous(c_attn_weight)
ba = contiguous(c_attn_bias)
wp = contiguous(c_proj_weight)
bp = contiguous(c_proj_bias)
batch, t = xc.shape[0], xc.shape[1]
c = xc.shape[2]
hs = c // 8
m = batch * t
vec = define("VEC", 4 if c % 4 == 0 and min(xc.align, wa.align, wp.align) >= 16 else 1)
hv = define("HV4", 1 if hs % 4 == 0 else 0)
nq = cdiv(t, 128)
nk = cdiv(t, 64)
nch = cdiv(hs, 96)
qkv = scratch(max(m * c * 12, 256))
y = scratch(max(m * c * 4, 256))
flags = scratch(max(nq * nk * 4, 256))
bad = scratch(256, zero=True)
if out.numel > 0:
    launch("mask_tiles", grid=(nk, nq), block=256, args=[bias, ptr(flags, 0), t, nk, bias.stride[2], bias.stride[3]])
    launch("linear_k", grid=(cdiv(3 * c, 128), cdiv(m, 128)), block=256, smem=61440, args=[xc, wa, ba, ptr(qkv, 0), m, 3 * c, c, ptr(bad, 0), 2 * c])
    launch("attend", grid=batch * 8 * nch * nq, block=256, smem=110592, args=[ptr(qkv, 0), bias, ptr(flags, 0), ptr(bad, 0), ptr(y, 0), t, c, hs, bias.stride[2], bias.stride[3], nq, nk, nch, mul_other])
    launch("linear_k", grid=(cdiv(c, 128), cdiv(m, 128)), block=256, smem=61440, args=[ptr(y, 0), wp, bp, out, m, c, c, None, 0])
@*/
constexpr int kStages = 3;
constexpr int kLd = 20;                         // a row of 16 k values, padded by 16 bytes
constexpr int kTile = 128 * kLd;

__device__ __forceinline__ void cp16(float* s, const float* g) {
  const unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(a), "l"(g) : "memory");
}
__device__ __forceinline__ void cp4(float* s, const float* g) {
  const unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(a), "l"(g) : "memory");
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int N>
__device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory"); }

// 128 rows by 16 columns of a row-major matrix, zeros outside
__device__ __forceinline__ void load_tile(float* to, const float* __restrict__ from, int ld, int rows_left,
                                          int k_left) {
  const int tid = threadIdx.x;
#if VEC == 4
  const int r = tid >> 2, q = (tid & 3) * 4;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int row = r + u * 64;
    float* d = to + row * kLd + q;
    if (row < rows_left && q < k_left) cp16(d, from + static_cast<long long>(row) * ld + q);
    else *reinterpret_cast<float4*>(d) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
#else
  const int r = tid >> 4, q = tid & 15;
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const int row = r + u * 16;
    float* d = to + row * kLd + q;
    if (row < rows_left && q < k_left) cp4(d, from + static_cast<long long>(row) * ld + q);
    else *d = 0.0f;
  }
#endif
}

// Rows and columns of the 128x128 tile that a thread holds: row_of + 4 i and col_of + 8 j
__device__ __forceinline__ int lane_row() { return (threadIdx.x & 1) | (((threadIdx.x >> 4) & 1) << 1); }
__device__ __forceinline__ int lane_col() { return (threadIdx.x >> 1) & 7; }
__device__ __forceinline__ int row_of() { return static_cast<int>(threadIdx.x >> 6) * 32 + lane_row(); }
__device__ __forceinline__ int col_of() { return static_cast<int>((threadIdx.x >> 5) & 1) * 64 + lane_col(); }

// acc = A[128, k] * B[128, k]^T in f32 FMA; both row-major with row stride k
__device__ __forceinline__ void gemm_tile(const float* __restrict__ a, const float* __restrict__ b, int rows_a,
                                          int rows_b, int k, float* sm, float (&acc)[8][8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;
  const int a_off = row_of() * kLd;
  const int b_off = kTile + col_of() * kLd;
  const int nk = (k + 15) / 16;
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < nk) {
      load_tile(sm + s * 2 * kTile, a + s * 16, k, rows_a, k - s * 16);
      load_tile(sm + s * 2 * kTile + kTile, b + s * 16, k, rows_b, k - s * 16);
    }
    cp_commit();
  }
  int rd = 0, wr = kStages - 1;
#pragma unroll 1
  for (int t = 0; t < nk; ++t) {
    cp_wait<kStages - 2>();
    __syncthreads();                            // tile t is here, tile t - 1 is used up
    const int ahead = (t + kStages - 1) * 16;
    if (ahead < k) {
      float* to = sm + wr * 2 * kTile;
      load_tile(to, a + ahead, k, rows_a, k - ahead);
      load_tile(to + kTile, b + ahead, k, rows_b, k - ahead);
    }
    cp_commit();
    const float* as = sm + rd * 2 * kTile + a_off;
    const float* bs = sm + rd * 2 * kTile + b_off;
#pragma unroll
    for (int kk = 0; kk < 16; kk += 4) {
      float4 av[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) av[i] = *reinterpret_cast<const float4*>(as + i * 4 * kLd + kk);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float4 bv = *reinterpret_cast<const float4*>(bs + j * 8 * kLd + kk);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(av[i].x, bv.x, acc[i][j]);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(av[i].y, bv.y, acc[i][j]);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(av[i].z, bv.z, acc[i][j]);
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = fmaf(av[i].w, bv.w, acc[i][j]);
      }
    }
    rd = rd + 1 == kStages ? 0 : rd + 1;
    wr = wr + 1 == kStages ? 0 : wr + 1;
  }
}

// y = x w^T + b; notes in nonfinite[0] whether a column from `from` on holds NaN or an infinity
extern "C" __global__ void __launch_bounds__(256, 2)
linear_k(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
         float* __restrict__ y, long long m, long long n, long long k, int* nonfinite, long long from) {
  extern __shared__ __align__(16) float sm[];
  const long long row0 = blockIdx.y * 128LL, col0 = blockIdx.x * 128LL;
  const int rows = static_cast<int>(m - row0 < 128 ? m - row0 : 128);
  const int cols = static_cast<int>(n - col0 < 128 ? n - col0 : 128);
  float acc[8][8];
  gemm_tile(x + row0 * k, w + col0 * k, rows, cols, static_cast<int>(k), sm, acc);
  const int r0 = row_of(), c0 = col_of();
  float add[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) add[j] = c0 + 8 * j < cols ? b[col0 + c0 + 8 * j] : 0.0f;
  bool odd = false;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int r = r0 + 4 * i;
    if (r < rows) {
      float* to = y + (row0 + r) * n + col0;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int c = c0 + 8 * j;
        if (c < cols) {
          const float v = acc[i][j] + add[j];
          to[c] = v;
          if (col0 + c >= from && !(fabsf(v) <= FLT_MAX)) odd = true;
        }
      }
    }
  }
  if (odd && nonfinite != nullptr) atomicOr(nonfinite, 1);
}

// per tile of 128 queries by 64 keys: 0 all masked, 1 mixed, 2 nothing masked
extern "C" __global__ void __launch_bounds__(256)
mask_tiles(const T_bias* __restrict__ mask, int* __restrict__ flags, long long t, long long nk, long long ms0,
           long long ms1) {
  __shared__ int seen;
  if (threadIdx.x == 0) seen = 0;
  __syncthreads();
  const long long q0 = blockIdx.y * 128LL, k0 = blockIdx.x * 64LL;
  int mine = 0;
  for (int i = threadIdx.x; i < 128 * 64; i += 256) {
    const long long q = q0 + i / 64, k = k0 + i % 64;
    if (q < t && k < t) mine |= kg::to_float(mask[q * ms0 + k * ms1]) == 0.0f ? 1 : 2;
  }
  if (mine != 0) atomicOr(&seen, mine);
  __syncthreads();
  if (threadIdx.x == 0) flags[blockIdx.y * nk + blockIdx.x] = seen == 2 ? 2 : (seen == 1 ? 0 : 1);
}

// `rows` by 96 values of a head into shared memory, zeros outside
__device__ __forceinline__ void load_head(float* to, int pitch, const float* __restrict__ from, long long ld,
                                          int rows, int rows_left, int width) {
  for (int i = threadIdx.x; i < rows * 24; i += 256) {
    const int r = i / 24, q = (i - r * 24) * 4;
    float* d = to + r * pitch + q;
#if HV4
    if (r < rows_left && q < width) cp16(d, from + r * ld + q);
    else *reinterpret_cast<float4*>(d) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#else
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (r < rows_left && q + e < width) cp4(d + e, from + r * ld + q + e);
      else d[e] = 0.0f;
    }
#endif
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
attend(const float* __restrict__ qkv, const T_bias* __restrict__ mask, const int* __restrict__ flags,
       const int* __restrict__ nonfinite, float* __restrict__ y, long long t_ll, long long c, long long hs_ll,
       long long ms0, long long ms1, long long nq, long long nk, long long nch_ll, float scale) {
  extern __shared__ __align__(16) float sm[];
  constexpr int kQ = 100, kP = 68, kV = 96;
  float* qs = sm;                               // 128 queries
  float* kp = sm + 128 * kQ;                    // 64 keys, then the 128x64 probabilities
  float* vs = kp + 128 * kP;                    // 64 values
  const int t = static_cast<int>(t_ll), hs = static_cast<int>(hs_ll), nch = static_cast<int>(nch_ll);
  long long id = blockIdx.x;
  const int qt = static_cast<int>(nq - 1 - id % nq);   // long rows of a causal mask first
  id /= nq;
  const int part = static_cast<int>(id % nch);
  id /= nch;
  const int head = static_cast<int>(id % 8);
  const long long b = id / 8;
  const long long ld = 3 * c;
  const float* base = qkv + b * t * ld + static_cast<long long>(head) * hs;
  const int q0 = qt * 128;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int ly = lane & 1, lx = lane >> 1;
  const int my_row = warp * 16 + ly;            // rows my_row + 2 i, a warp holds all keys of its rows
  const bool may_skip = nonfinite[0] == 0;      // 0 * NaN and 0 * Inf of masked keys count

  float o[8][6], top[8], sum[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    top[i] = -INFINITY;
    sum[i] = 0.0f;
#pragma unroll
    for (int j = 0; j < 6; ++j) o[i][j] = 0.0f;
  }
  bool have_q = false;
#pragma unroll 1
  for (int kt = 0; kt < static_cast<int>(nk); ++kt) {
    const int flag = flags[qt * nk + kt];
    if (flag == 0 && may_skip) continue;
    const int k0 = kt * 64;
    float s[8][4];
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) s[i][j] = 0.0f;
#pragma unroll 1
    for (int ch = 0; ch < nch; ++ch) {
      const int width = min(96, hs - ch * 96);
      __syncthreads();                          // the former tiles are used up
      if (!have_q || nch > 1)
        load_head(qs, kQ, base + static_cast<long long>(q0) * ld + ch * 96, ld, 128, t - q0, width);
      load_head(kp, kQ, base + c + static_cast<long long>(k0) * ld + ch * 96, ld, 64, t - k0, width);
      cp_commit();
      if (ch == nch - 1)
        load_head(vs, kV, base + 2 * c + static_cast<long long>(k0) * ld + part * 96, ld, 64, t - k0,
                  min(96, hs - part * 96));
      cp_commit();
      cp_wait<1>();
      __syncthreads();
      const float* qp = qs + my_row * kQ;
      const float* kr = kp + lx * kQ;
#pragma unroll 2
      for (int d = 0; d < width; d += 4) {
        float4 kv[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) kv[j] = *reinterpret_cast<const float4*>(kr + j * 16 * kQ + d);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float4 qv = *reinterpret_cast<const float4*>(qp + i * 2 * kQ + d);
#pragma unroll
          for (int j = 0; j < 4; ++j) s[i][j] = fmaf(qv.x, kv[j].x, s[i][j]);
#pragma unroll
          for (int j = 0; j < 4; ++j) s[i][j] = fmaf(qv.y, kv[j].y, s[i][j]);
#pragma unroll
          for (int j = 0; j < 4; ++j) s[i][j] = fmaf(qv.z, kv[j].z, s[i][j]);
#pragma unroll
          for (int j = 0; j < 4; ++j) s[i][j] = fmaf(qv.w, kv[j].w, s[i][j]);
        }
      }
    }
    have_q = true;
    const bool check = flag != 2 || k0 + 64 > t;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int q = q0 + my_row + 2 * i;
      float high = -INFINITY;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        s[i][j] *= scale;
        if (check) {
          const int k = k0 + lx + 16 * j;
          if (k >= t || (q < t && kg::to_float(mask[q * ms0 + k * ms1]) == 0.0f)) s[i][j] = -INFINITY;
        }
        high = fmaxf(high, s[i][j]);
      }
#pragma unroll
      for (int d = 2; d < 32; d <<= 1) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, d));
      high = fmaxf(high, top[i]);
      const float from = high == -INFINITY ? 0.0f : high;
      const float fade = expf(top[i] - from);
      top[i] = high;
      float add = 0.0f;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        s[i][j] = expf(s[i][j] - from);
        add += s[i][j];
      }
      sum[i] = fmaf(sum[i], fade, add);
#pragma unroll
      for (int j = 0; j < 6; ++j) o[i][j] *= fade;
    }
    cp_wait<0>();
    __syncthreads();                            // keys are used up, values are here
    float* pw = kp + my_row * kP;
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) pw[i * 2 * kP + lx + 16 * j] = s[i][j];
    __syncwarp();                               // a warp reads its own rows only
    const float* vp = vs + lx * 2;
#pragma unroll 2
    for (int k = 0; k < 64; k += 4) {
      float2 v[4][3];
#pragma unroll
      for (int e = 0; e < 4; ++e)
#pragma unroll
        for (int j = 0; j < 3; ++j) v[e][j] = *reinterpret_cast<const float2*>(vp + (k + e) * kV + 32 * j);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float4 p = *reinterpret_cast<const float4*>(pw + i * 2 * kP + k);
        const float pe[4] = {p.x, p.y, p.z, p.w};
#pragma unroll
        for (int e = 0; e < 4; ++e)
#pragma unroll
          for (int j = 0; j < 3; ++j) {
            o[i][2 * j] = fmaf(pe[e], v[e][j].x, o[i][2 * j]);
            o[i][2 * j + 1] = fmaf(pe[e], v[e][j].y, o[i][2 * j + 1]);
          }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float total = sum[i];
#pragma unroll
    for (int d = 2; d < 32; d <<= 1) total += __shfl_xor_sync(0xffffffffu, total, d);
    const int q = q0 + my_row + 2 * i;
    if (q < t) {
      float* to = y + (b * t + q) * c + static_cast<long long>(head) * hs;
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        const int d = part * 96 + lx * 2 + 32 * j;
        if (d < hs) to[d] = o[i][2 * j] / total;
        if (d + 1 < hs) to[d + 1] = o[i][2 * j + 1] / total;
      }
    }
  }
}
