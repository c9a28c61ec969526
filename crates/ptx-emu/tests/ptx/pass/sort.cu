#include <cub/block/block_radix_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
extern "C" __global__ void sort(const unsigned* x, unsigned* y) {
  using S = cub::BlockRadixSort<unsigned, 128, 4>; using L = cub::BlockLoad<unsigned, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  __shared__ union { typename S::TempStorage s; typename L::TempStorage l; } t; unsigned k[4];
  L(t.l).Load(x, k); __syncthreads(); S(t.s).Sort(k); 
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = k[i];
}
extern "C" __global__ void wred(const float* x, float* y) { using W = cub::WarpReduce<float>; __shared__ typename W::TempStorage t[4]; float v = W(t[threadIdx.x / 32]).Reduce(x[threadIdx.x], [](float a, float b) { return a > b ? a : b; }); if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = v; }
