/*@plan
m, k = self.shape[0], self.shape[1]
x = contiguous(vec)
quick = 1 if self.stride[1] == 1 and self.align >= 16 and self.stride[0] * self.itemsize % 16 == 0 and x.align >= 16 else 0
launch("mv", grid=min(m, 5000), block=128, args=[self, x, out, m, k, self.stride[0], self.stride[1], quick])
@*/
#include <cub/block/block_reduce.cuh>
// Persistent blocks, a row at a time; 16 bytes at a time where everything is aligned.
extern "C" __global__ void __launch_bounds__(128)
mv(const T_self* __restrict__ a, const T_vec* __restrict__ x, T_out* __restrict__ out, long long m, long long k,
   long long s0, long long s1, int quick) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  constexpr int N = 16 / sizeof(T_self);
  struct alignas(16) Pack { T_self v[N]; };
  for (long long row = blockIdx.x; row < m; row += gridDim.x) {
    const T_self* from = a + row * s0;
    float sum = 0;
    long long done = 0;
    if (quick) {
      const long long packs = k / N;
      for (long long i = threadIdx.x; i < packs; i += 128) {
        const Pack p = reinterpret_cast<const Pack*>(from)[i], q = reinterpret_cast<const Pack*>(x)[i];
#pragma unroll
        for (int t = 0; t < N; ++t) sum = fmaf(kg::to_float(p.v[t]), kg::to_float(q.v[t]), sum);
      }
      done = packs * N;
    }
    for (long long i = done + threadIdx.x; i < k; i += 128) sum = fmaf(kg::to_float(from[i * s1]), kg::to_float(x[i]), sum);
    sum = Reduce(storage).Sum(sum);
    if (threadIdx.x == 0) out[row] = kg::from_float<T_out>(sum);
    __syncthreads();
  }
}
