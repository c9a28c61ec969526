// Barriers of the whole grid and groups of threads found at run time.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void smooth(float* x, float* t, int n, int rounds) {
  auto g = cg::this_grid();
  for (int r = 0; r < rounds; ++r) {
    for (unsigned long long i = g.thread_rank(); i < n; i += g.size()) t[i] = 0.5f * x[i] + 0.25f * x[(i + 1) % n];
    g.sync();
    for (unsigned long long i = g.thread_rank(); i < n; i += g.size()) x[i] = t[n - 1 - i];
    g.sync();
  }
}
extern "C" __global__ void compact(const int* x, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    cg::coalesced_group g = cg::coalesced_threads();
    int base;
    if (g.thread_rank() == 0) base = atomicAdd(count, (int)g.size());
    base = g.shfl(base, 0);
    out[base + g.thread_rank()] = x[i];
  }
  auto w = cg::tiled_partition<32>(cg::this_thread_block());
  int s = cg::reduce(w, i < n ? x[i] : 0, cg::plus<int>());
  if (w.thread_rank() == 0) atomicMax(count + 1, s);
}
