#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void cg_sum(const float* x, float* y, int n) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  float v = 0.f;
  for (int i = block.thread_rank(); i < n; i += block.size()) v += x[blockIdx.x * n + i];
  __shared__ float s[32];
  v = cg::reduce(tile, v, cg::plus<float>());
  if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = v;
  block.sync();
  if (tile.meta_group_rank() == 0) {
    float t = tile.thread_rank() < tile.meta_group_size() ? s[tile.thread_rank()] : 0.f;
    t = cg::reduce(tile, t, cg::plus<float>());
    if (tile.thread_rank() == 0) y[blockIdx.x] = t;
  }
}
extern "C" __global__ void cg_tile16(const int* x, int* y) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int v = x[threadIdx.x];
  for (int o = 8; o; o /= 2) v += tile.shfl_down(v, o);
  if (tile.thread_rank() == 0) y[threadIdx.x / 16] = v;
}
