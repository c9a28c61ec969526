/*@plan
@SHAPE@
total = out.numel
rows = total // max(inner, 1)
wide = max(min(inner, 128), 1)
launch("move", grid=min(rows, 1000), block=(32, 8), smem=64, args=[@X@, @INDEX@, out, rows, n_out, n_in, inner, p, q])
@*/
using T = T_out;
using I = T_@TI@;
__device__ __forceinline__ long long source(long long o, long long j, long long i, long long n_in, long long inner,
                                            const I* index, long long p, long long q) {
@F@
}
struct Place { long long o, j; };
// Persistent blocks take whole rows; one thread finds the row's place for all.
extern "C" __global__ void move(const T* __restrict__ x, const I* __restrict__ index, T* __restrict__ out, long long rows,
                                long long n_out, long long n_in, long long inner, long long p, long long q) {
  extern __shared__ Place place[];
  const int tid = threadIdx.y * 32 + threadIdx.x;
  for (long long r = blockIdx.x; r < rows; r += gridDim.x) {
    if (tid == 0) place[0] = Place{r / n_out, r % n_out};
    __syncthreads();
    const Place here = place[0];
    for (long long i = tid; i < inner; i += 256) {
      const long long from = source(here.o, here.j, i, n_in, inner, index, p, q);
      T value{};
      if (from >= 0) value = x[from];
      out[r * inner + i] = value;
    }
    __syncthreads();
  }
}
