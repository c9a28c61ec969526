#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
extern "C" __global__ void block_sum(const float* x, float* y, int n) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage temp;
  float v = 0.f;
  for (int i = threadIdx.x; i < n; i += 128) v += x[blockIdx.x * n + i];
  float total = Reduce(temp).Sum(v);
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
extern "C" __global__ void block_scan(const int* x, int* y) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage temp;
  int v = x[threadIdx.x], r;
  Scan(temp).InclusiveSum(v, r);
  y[threadIdx.x] = r;
}
