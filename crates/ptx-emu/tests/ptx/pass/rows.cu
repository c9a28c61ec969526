// ldmatrix, stmatrix and movmatrix: 32 rows of 16 bytes in shared memory, one register per 8x8 matrix of b16.
#define LOAD(NAME, NUM, TRANS, N, LIST, ...) \
  extern "C" __global__ void NAME(const uint4* in, unsigned* out) { \
    __shared__ __align__(16) uint4 rows[32]; \
    int t = threadIdx.x; unsigned r[4]; \
    rows[t] = in[t]; \
    __syncthreads(); \
    unsigned at = (unsigned)__cvta_generic_to_shared(&rows[t]); \
    asm volatile("ldmatrix.sync.aligned.m8n8." NUM TRANS ".shared.b16 " LIST ", [%" #N "];" : __VA_ARGS__ : "r"(at)); \
    for (int i = 0; i < N; ++i) out[t * N + i] = r[i]; \
  }
LOAD(ldmatrix_x1, "x1", "", 1, "{%0}", "=r"(r[0]))
LOAD(ldmatrix_x1_trans, "x1", ".trans", 1, "{%0}", "=r"(r[0]))
LOAD(ldmatrix_x2, "x2", "", 2, "{%0,%1}", "=r"(r[0]), "=r"(r[1]))
LOAD(ldmatrix_x2_trans, "x2", ".trans", 2, "{%0,%1}", "=r"(r[0]), "=r"(r[1]))
LOAD(ldmatrix_x4, "x4", "", 4, "{%0,%1,%2,%3}", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]))
LOAD(ldmatrix_x4_trans, "x4", ".trans", 4, "{%0,%1,%2,%3}", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]))
#define STORE(NAME, NUM, TRANS, N, LIST, ...) \
  extern "C" __global__ void NAME(const unsigned* in, uint4* out) { \
    __shared__ __align__(16) uint4 rows[8 * N]; \
    int t = threadIdx.x; unsigned r[4]; \
    for (int i = 0; i < N; ++i) r[i] = in[t * N + i]; \
    unsigned at = (unsigned)__cvta_generic_to_shared(&rows[t % (8 * N)]); \
    asm volatile("stmatrix.sync.aligned.m8n8." NUM TRANS ".shared.b16 [%0], " LIST ";" :: "r"(at), __VA_ARGS__ : "memory"); \
    __syncthreads(); \
    if (t < 8 * N) out[t] = rows[t]; \
  }
STORE(stmatrix_x1, "x1", "", 1, "{%1}", "r"(r[0]))
STORE(stmatrix_x1_trans, "x1", ".trans", 1, "{%1}", "r"(r[0]))
STORE(stmatrix_x2, "x2", "", 2, "{%1,%2}", "r"(r[0]), "r"(r[1]))
STORE(stmatrix_x2_trans, "x2", ".trans", 2, "{%1,%2}", "r"(r[0]), "r"(r[1]))
STORE(stmatrix_x4, "x4", "", 4, "{%1,%2,%3,%4}", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]))
STORE(stmatrix_x4_trans, "x4", ".trans", 4, "{%1,%2,%3,%4}", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]))
extern "C" __global__ void movmatrix_trans(const unsigned* in, unsigned* out) {
  unsigned r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(in[threadIdx.x]));
  out[threadIdx.x] = r;
}
