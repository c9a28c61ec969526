/*@plan
m = self.shape[0]
k = self.shape[1]
n = mat2.shape[1]
bm = param("BM", [128, 64])
wide = 16 // self.itemsize
define("TENSOR", 0 if self.dtype == "f32" else 1)
a_vec = self.stride[1] == 1 and self.align >= 16 and self.stride[0] % wide == 0 and k % wide == 0
b_vec = mat2.stride[1] == 1 and mat2.align >= 16 and mat2.stride[0] % wide == 0 and n % wide == 0
define("VA", wide if a_vec else 1)
define("VB", wide if b_vec else 1)
launch("mm", grid=cdiv(m, bm) * cdiv(n, 128), block=256, args=[self, mat2, out, m, n, k, self.stride[0], self.stride[1], mat2.stride[0], mat2.stride[1]])
@*/
#if TENSOR
#include <mma.h>
#endif

constexpr int THREADS = 256;
constexpr int BN = 128;
#if TENSOR
constexpr int BK = 32;
constexpr int LDA = BK + 8;      // As[row][k]
constexpr int LDB = BN + 8;      // Bs[k][col]
constexpr int A_SIZE = BM * LDA;
#else
constexpr int BK = 16;
constexpr int LDA = BM + 4;      // As[k][row]
constexpr int LDB = BN + 4;      // Bs[k][col]
constexpr int A_SIZE = BK * LDA;
#endif
constexpr int B_SIZE = BK * LDB;

template <class T, int V> struct alignas(V * sizeof(T)) Pack { T v[V]; };
typedef Pack<T_self, VA> PackA;
typedef Pack<T_mat2, VB> PackB;
constexpr int NA = BM * BK / (VA * THREADS);   // packs per thread
constexpr int NB = BN * BK / (VB * THREADS);

// position of pack c in a tile of R rows and C columns
template <int R, int C, int V>
__device__ __forceinline__ void place(int c, bool by_row, int& row, int& col) {
  if (V > 1 || by_row) {
    row = c / (C / V);
    col = (c % (C / V)) * V;
  } else {
    row = c % R;
    col = c / R;
  }
}

template <int R, int C, int V, int N, class T>
__device__ __forceinline__ void fetch(Pack<T, V> (&p)[N], const T* __restrict__ x, long long r0, long long c0,
                                      long long rows, long long cols, long long s0, long long s1, bool by_row) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    int row, col;
    place<R, C, V>(threadIdx.x + i * THREADS, by_row, row, col);
    if (r0 + row < rows && c0 + col < cols) {
      p[i] = *reinterpret_cast<const Pack<T, V>*>(x + (r0 + row) * s0 + (c0 + col) * s1);
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) p[i].v[j] = kg::from_float<T>(0.0f);
    }
  }
}

__device__ __forceinline__ void put_a(T_self* As, const PackA (&p)[NA], bool by_row) {
#pragma unroll
  for (int i = 0; i < NA; ++i) {
    int row, col;
    place<BM, BK, VA>(threadIdx.x + i * THREADS, by_row, row, col);
#if TENSOR
    *reinterpret_cast<PackA*>(As + row * LDA + col) = p[i];
#else
#pragma unroll
    for (int j = 0; j < VA; ++j) As[(col + j) * LDA + row] = p[i].v[j];
#endif
  }
}

__device__ __forceinline__ void put_b(T_mat2* Bs, const PackB (&p)[NB], bool by_row) {
#pragma unroll
  for (int i = 0; i < NB; ++i) {
    int row, col;
    place<BK, BN, VB>(threadIdx.x + i * THREADS, by_row, row, col);
    *reinterpret_cast<PackB*>(Bs + row * LDB + col) = p[i];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
mm(const T_self* __restrict__ a, const T_mat2* __restrict__ b, T_out* __restrict__ y,
   long long m, long long n, long long k, long long sa0, long long sa1, long long sb0, long long sb1) {
  __shared__ __align__(128) unsigned char a_raw[2 * A_SIZE * sizeof(T_self)];
  __shared__ __align__(128) unsigned char b_raw[2 * B_SIZE * sizeof(T_mat2)];
  T_self* As = reinterpret_cast<T_self*>(a_raw);
  T_mat2* Bs = reinterpret_cast<T_mat2*>(b_raw);

  const long long tiles_n = (n + BN - 1) / BN;
  const long long m0 = (blockIdx.x / tiles_n) * BM;
  const long long n0 = (blockIdx.x % tiles_n) * BN;
  const bool a_by_row = sa1 == 1 || sa0 != 1;
  const bool b_by_row = sb1 == 1 || sb0 != 1;
  const long long slabs = (k + BK - 1) / BK;

#if TENSOR
  using namespace nvcuda;
  constexpr int FM = BM / 32;                 // 2 x 4 warps, each (BM / 2) x 32
  const int warp = threadIdx.x / 32;
  const int wm = (warp / 4) * (BM / 2);
  const int wn = (warp % 4) * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[FM][2];
#pragma unroll
  for (int i = 0; i < FM; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) wmma::fill_fragment(acc[i][j], 0.0f);
#else
  constexpr int TM = BM / 16;                 // 16 x 16 threads, each TM x (4 + 4)
  const int tx = threadIdx.x % 16;
  const int ty = threadIdx.x / 16;
  float acc[TM][8];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) acc[i][j] = 0.0f;
#endif

  PackA pa[NA];
  PackB pb[NB];
  if (slabs > 0) {
    fetch<BM, BK, VA, NA, T_self>(pa, a, m0, 0, m, k, sa0, sa1, a_by_row);
    fetch<BK, BN, VB, NB, T_mat2>(pb, b, 0, n0, k, n, sb0, sb1, b_by_row);
    put_a(As, pa, a_by_row);
    put_b(Bs, pb, b_by_row);
  }
  __syncthreads();

  for (long long t = 0; t < slabs; ++t) {
    const bool more = t + 1 < slabs;
    if (more) {
      fetch<BM, BK, VA, NA, T_self>(pa, a, m0, (t + 1) * BK, m, k, sa0, sa1, a_by_row);
      fetch<BK, BN, VB, NB, T_mat2>(pb, b, (t + 1) * BK, n0, k, n, sb0, sb1, b_by_row);
    }
    const T_self* Ac = As + (t & 1) * A_SIZE;
    const T_mat2* Bc = Bs + (t & 1) * B_SIZE;
#if TENSOR
#pragma unroll
    for (int kk = 0; kk < BK; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T_self, wmma::row_major> fa[FM];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T_mat2, wmma::row_major> fb[2];
#pragma unroll
      for (int i = 0; i < FM; ++i) wmma::load_matrix_sync(fa[i], Ac + (wm + i * 16) * LDA + kk, LDA);
#pragma unroll
      for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(fb[j], Bc + kk * LDB + wn + j * 16, LDB);
#pragma unroll
      for (int i = 0; i < FM; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
    }
#else
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float ra[TM], rb[8];
#pragma unroll
      for (int i = 0; i < TM; i += 4) {
        const Pack<float, 4> p = *reinterpret_cast<const Pack<float, 4>*>(Ac + kk * LDA + ty * TM + i);
#pragma unroll
        for (int j = 0; j < 4; ++j) ra[i + j] = p.v[j];
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const Pack<float, 4> p = *reinterpret_cast<const Pack<float, 4>*>(Bc + kk * LDB + h * 64 + tx * 4);
#pragma unroll
        for (int j = 0; j < 4; ++j) rb[h * 4 + j] = p.v[j];
      }
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(ra[i], rb[j], acc[i][j]);
    }
#endif
    if (more) {
      put_a(As + ((t + 1) & 1) * A_SIZE, pa, a_by_row);
      put_b(Bs + ((t + 1) & 1) * B_SIZE, pb, b_by_row);
    }
    __syncthreads();
  }

#if TENSOR
  __shared__ __align__(128) float patches[THREADS / 32][256];
  float* patch = patches[warp];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < FM; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(patch, acc[i][j], 16, wmma::mem_row_major);
      __syncwarp();
      const int col = lane % 16;
#pragma unroll
      for (int q = 0; q < 8; ++q) {
        const int row = q * 2 + lane / 16;
        const long long gr = m0 + wm + i * 16 + row;
        const long long gc = n0 + wn + j * 16 + col;
        if (gr < m && gc < n) y[gr * n + gc] = kg::from_float<T_out>(patch[row * 16 + col]);
      }
      __syncwarp();
    }
  }
#else
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const long long gr = m0 + ty * TM + i;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const long long gc = n0 + (j / 4) * 64 + tx * 4 + j % 4;
      if (gr < m && gc < n) y[gr * n + gc] = acc[i][j];
    }
  }
#endif
}
