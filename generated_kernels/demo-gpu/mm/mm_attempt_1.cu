/*@plan
m = self.shape[0]
k = self.shape[1]
n = mat2.shape[1]
dense = self.contiguous and mat2.contiguous and self.align >= 16 and mat2.align >= 16 and m >= 32 and n >= 32 and k >= 32
single = self.dtype == "f32"
half = self.dtype == "f16" or self.dtype == "bf16"
choice = 0
if dense and single and k % 4 == 0 and n % 4 == 0:
    choice = 1
if dense and half and k % 8 == 0 and n % 8 == 0:
    choice = 2
kind = define("KIND", choice)
bf = define("BF16", 1 if self.dtype == "bf16" else 0)
if kind == 1:
    bk = param("BK", [16, 8])
    big = cdiv(m, 128) * cdiv(n, 128)
    if big >= sm_count:
        launch("sgemm_128", grid=big, block=256, args=[self, mat2, out, m, n, k])
    else:
        launch("sgemm_64", grid=cdiv(m, 64) * cdiv(n, 64), block=128, args=[self, mat2, out, m, n, k])
elif kind == 2:
    stages = param("STAGES", [3, 4])
    wide = param("WIDE", [1, 0])
    huge = cdiv(m, 128) * cdiv(n, 256)
    big = cdiv(m, 128) * cdiv(n, 128)
    if wide == 1 and huge >= sm_count:
        launch("hgemm_128x256", grid=huge, block=256, smem=stages * 49152, args=[self, mat2, out, m, n, k])
    elif big >= sm_count:
        launch("hgemm_128x128", grid=big, block=256, smem=stages * 32768, args=[self, mat2, out, m, n, k])
    else:
        launch("hgemm_64x64", grid=cdiv(m, 64) * cdiv(n, 64), block=128, smem=stages * 16384, args=[self, mat2, out, m, n, k])
else:
    launch("gemm_any", grid=cdiv(m, 64) * cdiv(n, 64), block=256, args=[self, mat2, out, m, n, k, self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
@*/

#if KIND == 0

extern "C" __global__ void __launch_bounds__(256)
gemm_any(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c,
         long long m, long long n, long long k,
         long long a0, long long a1, long long b0, long long b1) {
  __shared__ float as[16][65];
  __shared__ float bs[16][65];
  const long long tiles_n = (n + 63) / 64;
  const long long row0 = (blockIdx.x / tiles_n) * 64;
  const long long col0 = (blockIdx.x % tiles_n) * 64;
  const int tid = threadIdx.x;
  const int tx = tid % 16;
  const int ty = tid / 16;

  float acc[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) acc[i][j] = 0.0f;

  for (long long k0 = 0; k0 < k; k0 += 16) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int idx = tid + i * 256;
      const int r = idx / 16;
      const int ak = idx % 16;
      float va = 0.0f;
      if (row0 + r < m && k0 + ak < k) va = kg::to_float(a[(row0 + r) * a0 + (k0 + ak) * a1]);
      as[ak][r] = va;
      const int bk = idx / 64;
      const int col = idx % 64;
      float vb = 0.0f;
      if (k0 + bk < k && col0 + col < n) vb = kg::to_float(b[(k0 + bk) * b0 + (col0 + col) * b1]);
      bs[bk][col] = vb;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      float fa[4], fb[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) fa[i] = as[kk][ty + 16 * i];
#pragma unroll
      for (int j = 0; j < 4; ++j) fb[j] = bs[kk][tx + 16 * j];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
    }
    __syncthreads();                          // the tiles are written again
  }

#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const long long r = row0 + ty + 16 * i;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long col = col0 + tx + 16 * j;
      if (r < m && col < n) c[r * n + col] = kg::from_float<T_out>(acc[i][j]);
    }
  }
}

#elif KIND == 1

// TM x TN outputs per thread, as groups of 4 x 4 that are BM / MG and BN / NG apart.
template <int BM, int BN, int TM, int TN>
__device__ __forceinline__ void sgemm(const float* __restrict__ a, const float* __restrict__ b,
                                      float* __restrict__ c, int m, int n, int k) {
  constexpr int TX = BN / TN;
  constexpr int TY = BM / TM;
  constexpr int THREADS = TX * TY;
  constexpr int MG = TM / 4;
  constexpr int NG = TN / 4;
  constexpr int KQ = BK / 4;
  constexpr int NQ = BN / 4;
  constexpr int LA = BM * KQ / THREADS;
  constexpr int LB = BK * NQ / THREADS;
  static_assert(LA * THREADS == BM * KQ && LB * THREADS == BK * NQ, "tiles divide evenly");
  __shared__ __align__(16) float as[2][BK][BM + 4];
  __shared__ __align__(16) float bs[2][BK][BN];

  const int tiles_n = (n + BN - 1) / BN;
  const int row0 = static_cast<int>(blockIdx.x) / tiles_n * BM;
  const int col0 = static_cast<int>(blockIdx.x) % tiles_n * BN;
  const int tid = threadIdx.x;
  const int lane = tid % 32;
  const int warp = tid / 32;
  // a warp is 4 threads high and 8 wide
  const int ty = warp / (TX / 8) * 4 + lane / 8;
  const int tx = warp % (TX / 8) * 8 + lane % 8;

  float acc[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) acc[i][j] = 0.0f;

  float4 ra[LA], rb[LB];
  auto load = [&](int k0) {
#pragma unroll
    for (int i = 0; i < LA; ++i) {
      const int idx = tid + i * THREADS;
      const int r = row0 + idx / KQ;
      const int kk = k0 + idx % KQ * 4;
      ra[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (r < m && kk < k) ra[i] = *reinterpret_cast<const float4*>(a + static_cast<long long>(r) * k + kk);
    }
#pragma unroll
    for (int i = 0; i < LB; ++i) {
      const int idx = tid + i * THREADS;
      const int kk = k0 + idx / NQ;
      const int col = col0 + idx % NQ * 4;
      rb[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (kk < k && col < n) rb[i] = *reinterpret_cast<const float4*>(b + static_cast<long long>(kk) * n + col);
    }
  };
  auto store = [&](int buf) {
#pragma unroll
    for (int i = 0; i < LA; ++i) {
      const int idx = tid + i * THREADS;
      const int r = idx / KQ;
      const int kk = idx % KQ * 4;
      as[buf][kk + 0][r] = ra[i].x;
      as[buf][kk + 1][r] = ra[i].y;
      as[buf][kk + 2][r] = ra[i].z;
      as[buf][kk + 3][r] = ra[i].w;
    }
#pragma unroll
    for (int i = 0; i < LB; ++i) {
      const int idx = tid + i * THREADS;
      *reinterpret_cast<float4*>(&bs[buf][idx / NQ][idx % NQ * 4]) = rb[i];
    }
  };

  const int ktiles = (k + BK - 1) / BK;
  load(0);
  store(0);
  __syncthreads();
  for (int t = 0; t < ktiles; ++t) {
    const int buf = t & 1;
    if (t + 1 < ktiles) load((t + 1) * BK);
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float fa[TM], fb[TN];
#pragma unroll
      for (int g = 0; g < MG; ++g) {
        const float4 q = *reinterpret_cast<const float4*>(&as[buf][kk][g * (BM / MG) + ty * 4]);
        fa[g * 4 + 0] = q.x; fa[g * 4 + 1] = q.y; fa[g * 4 + 2] = q.z; fa[g * 4 + 3] = q.w;
      }
#pragma unroll
      for (int g = 0; g < NG; ++g) {
        const float4 q = *reinterpret_cast<const float4*>(&bs[buf][kk][g * (BN / NG) + tx * 4]);
        fb[g * 4 + 0] = q.x; fb[g * 4 + 1] = q.y; fb[g * 4 + 2] = q.z; fb[g * 4 + 3] = q.w;
      }
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
    }
    if (t + 1 < ktiles) store(buf ^ 1);       // last read before the previous barrier
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const int r = row0 + i / 4 * (BM / MG) + ty * 4 + i % 4;
    if (r < m) {
#pragma unroll
      for (int g = 0; g < NG; ++g) {
        const int col = col0 + g * (BN / NG) + tx * 4;
        if (col < n)
          *reinterpret_cast<float4*>(c + static_cast<long long>(r) * n + col) =
              make_float4(acc[i][g * 4 + 0], acc[i][g * 4 + 1], acc[i][g * 4 + 2], acc[i][g * 4 + 3]);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm_128(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c, int m, int n, int k) {
  sgemm<128, 128, 8, 8>(a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(128)
sgemm_64(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c, int m, int n, int k) {
  sgemm<64, 64, 8, 4>(a, b, c, m, n, k);
}

#else

struct alignas(4) Pair { T_out v[2]; };

// 16 bytes from global to shared memory, or 16 zero bytes if !ok
__device__ __forceinline__ void copy16(unsigned dst, const void* src, bool ok) {
  const int bytes = ok ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(dst), "l"(src), "r"(bytes) : "memory");
}

__device__ __forceinline__ void ldmatrix4(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3, unsigned addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(addr) : "memory");
}

__device__ __forceinline__ void ldmatrix4t(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3, unsigned addr) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(addr) : "memory");
}

__device__ __forceinline__ void mma16816(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if BF16
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#else
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#endif
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// BM x BN per block, WROWS x WCOLS warps, k tiles of 64.
template <int BM, int BN, int WROWS, int WCOLS>
__device__ __forceinline__ void hgemm(unsigned char* smem, const T_self* __restrict__ a,
                                      const T_mat2* __restrict__ b, T_out* __restrict__ c,
                                      int m, int n, int k) {
  constexpr int THREADS = WROWS * WCOLS * 32;
  constexpr int WM = BM / WROWS;
  constexpr int WN = BN / WCOLS;
  constexpr int MI = WM / 16;
  constexpr int NI = WN / 8;
  constexpr int NCH = BN / 8;                 // 16-byte chunks in a row of the B tile
  constexpr int A_BYTES = BM * 128;
  constexpr int STAGE_BYTES = A_BYTES + 64 * BN * 2;

  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(smem));
  const int tiles_n = (n + BN - 1) / BN;
  const int row0 = static_cast<int>(blockIdx.x) / tiles_n * BM;
  const int col0 = static_cast<int>(blockIdx.x) % tiles_n * BN;
  const int tid = threadIdx.x;
  const int lane = tid % 32;
  const int warp = tid / 32;
  const int wm0 = warp / WCOLS * WM;
  const int wn0 = warp % WCOLS * WN;

  auto load = [&](int stage, int tile) {
    const unsigned as = base + stage * STAGE_BYTES;
    const unsigned bs = as + A_BYTES;
    const int k0 = tile * 64;
#pragma unroll
    for (int i = 0; i < BM * 8 / THREADS; ++i) {
      const int idx = tid + i * THREADS;
      const int r = idx / 8;
      const int ch = idx % 8;
      const int gr = row0 + r;
      const int gk = k0 + ch * 8;
      const bool ok = gr < m && gk < k;
      const T_self* src = ok ? a + static_cast<long long>(gr) * k + gk : a;
      copy16(as + r * 128 + ((ch ^ (r & 7)) << 4), src, ok);
    }
#pragma unroll
    for (int i = 0; i < 64 * NCH / THREADS; ++i) {
      const int idx = tid + i * THREADS;
      const int r = idx / NCH;
      const int ch = idx % NCH;
      const int gk = k0 + r;
      const int gn = col0 + ch * 8;
      const bool ok = gk < k && gn < n;
      const T_mat2* src = ok ? b + static_cast<long long>(gk) * n + gn : b;
      copy16(bs + r * (BN * 2) + ((ch ^ (r & 7)) << 4), src, ok);
    }
  };

  float acc[MI][NI][4];
#pragma unroll
  for (int i = 0; i < MI; ++i)
#pragma unroll
    for (int j = 0; j < NI; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) acc[i][j][e] = 0.0f;

  const int ktiles = (k + 63) / 64;
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < ktiles) load(s, s);
    asm volatile("cp.async.commit_group;\n" ::: "memory");
  }

  int read = 0;
  int write = STAGES - 1;
  for (int t = 0; t < ktiles; ++t) {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2) : "memory");
    __syncthreads();                          // tile t is there, and the slot of tile t - 1 is free
    if (t + STAGES - 1 < ktiles) load(write, t + STAGES - 1);
    asm volatile("cp.async.commit_group;\n" ::: "memory");

    const unsigned as = base + read * STAGE_BYTES;
    const unsigned bs = as + A_BYTES;
#pragma unroll
    for (int kk = 0; kk < 4; ++kk) {
      unsigned fa[MI][4];
      unsigned fb[NI][2];
#pragma unroll
      for (int i = 0; i < MI; ++i) {
        const int r = wm0 + i * 16 + (lane & 15);
        const int ch = kk * 2 + (lane >> 4);
        ldmatrix4(fa[i][0], fa[i][1], fa[i][2], fa[i][3], as + r * 128 + ((ch ^ (r & 7)) << 4));
      }
#pragma unroll
      for (int j = 0; j < NI; j += 2) {
        const int r = kk * 16 + (lane & 15);
        const int ch = wn0 / 8 + j + (lane >> 4);
        ldmatrix4t(fb[j][0], fb[j][1], fb[j + 1][0], fb[j + 1][1], bs + r * (BN * 2) + ((ch ^ (r & 7)) << 4));
      }
#pragma unroll
      for (int i = 0; i < MI; ++i)
#pragma unroll
        for (int j = 0; j < NI; ++j) mma16816(acc[i][j], fa[i], fb[j]);
    }
    read = read + 1 == STAGES ? 0 : read + 1;
    write = write + 1 == STAGES ? 0 : write + 1;
  }

  // Round once, stage the tile in shared memory, store 16 bytes per thread.
  asm volatile("cp.async.wait_group 0;\n" ::: "memory");
  __syncthreads();
  constexpr int LD = BN + 8;
  T_out* tile = reinterpret_cast<T_out*>(smem);
#pragma unroll
  for (int i = 0; i < MI; ++i) {
#pragma unroll
    for (int j = 0; j < NI; ++j) {
      const int r = wm0 + i * 16 + lane / 4;
      const int col = wn0 + j * 8 + lane % 4 * 2;
      Pair lo, hi;
      lo.v[0] = kg::from_float<T_out>(acc[i][j][0]);
      lo.v[1] = kg::from_float<T_out>(acc[i][j][1]);
      hi.v[0] = kg::from_float<T_out>(acc[i][j][2]);
      hi.v[1] = kg::from_float<T_out>(acc[i][j][3]);
      *reinterpret_cast<Pair*>(tile + r * LD + col) = lo;
      *reinterpret_cast<Pair*>(tile + (r + 8) * LD + col) = hi;
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < BM * NCH / THREADS; ++i) {
    const int idx = tid + i * THREADS;
    const int r = idx / NCH;
    const int col = idx % NCH * 8;
    if (row0 + r < m && col0 + col < n)
      *reinterpret_cast<uint4*>(c + static_cast<long long>(row0 + r) * n + col0 + col) =
          *reinterpret_cast<const uint4*>(tile + r * LD + col);
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
hgemm_128x256(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char smem[];
  hgemm<128, 256, 2, 4>(smem, a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(256, 1)
hgemm_128x128(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char smem[];
  hgemm<128, 128, 2, 4>(smem, a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(128)
hgemm_64x64(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char smem[];
  hgemm<64, 64, 2, 2>(smem, a, b, c, m, n, k);
}

#endif
