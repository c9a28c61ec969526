/*@plan
@SHAPE@
total = out.numel
launch("move", grid=min(cdiv(total, 256), 1 << 30), block=256,
       args=[@X@, @INDEX@, out, total, n_out, n_in, inner, p, q])
@*/
using T = T_out;
using I = T_@TI@;
// The output is [outer, n_out, inner], the input [outer, n_in, inner].
__device__ __forceinline__ long long source(long long o, long long j, long long i, long long n_in, long long inner,
                                            const I* index, long long p, long long q) {
@F@
}
extern "C" __global__ void move(const T* __restrict__ x, const I* __restrict__ index, T* __restrict__ out, long long total,
                                long long n_out, long long n_in, long long inner, long long p, long long q) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at >= total) return;
  const long long i = at % inner, j = at / inner % n_out, o = at / inner / n_out;
  const long long from = source(o, j, i, n_in, inner, index, p, q);
  out[at] = from < 0 ? T{} : x[from];
}
