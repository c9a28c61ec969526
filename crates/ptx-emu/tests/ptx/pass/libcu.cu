// Barriers and pipelines of libcu++, and the rarer cooperative groups.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void arrive_and_wait(const float* x, float* y, int n) {
  __shared__ barrier bar;
  __shared__ float s[128];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = x[k * 128 + threadIdx.x];
    auto t = bar.arrive();
    bar.wait(cuda::std::move(t));
    y[k * 128 + threadIdx.x] = s[(threadIdx.x + 1) % 128];
    bar.arrive_and_wait();
  }
}
extern "C" __global__ void async_copies(const float* x, float* y) {
  __shared__ barrier bar;
  __shared__ float s[128];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(s + threadIdx.x, x + threadIdx.x, cuda::aligned_size_t<4>(4), bar);
  bar.arrive_and_wait();
  y[threadIdx.x] = s[127 - threadIdx.x];
}
extern "C" __global__ void two_stages(const float* x, float* y, int n) {
  constexpr int stages = 2;
  __shared__ float s[stages][128];
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int k = 0, f = 0; k < n; ++k) {
    for (; f < n && f < k + stages; ++f) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[f % stages], x + f * 128, sizeof(float) * 128, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += s[k % stages][127 - threadIdx.x];
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void thread_pipeline(const float* x, float* y) {
  __shared__ float s[2][128];
  auto pipe = cuda::make_pipeline();
  for (int i = 0; i < 2; ++i) {
    pipe.producer_acquire();
    cuda::memcpy_async(&s[i][threadIdx.x], x + i * 128 + threadIdx.x, sizeof(float), pipe);
    pipe.producer_commit();
  }
  cuda::pipeline_consumer_wait_prior<1>(pipe);
  y[threadIdx.x] = s[0][threadIdx.x];
  pipe.consumer_release();
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  y[threadIdx.x] += s[1][threadIdx.x];
  pipe.consumer_release();
}
extern "C" __global__ void group_copy(const int* x, int* y) {
  __shared__ int s[256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, sizeof(int) * 256);
  cg::wait(block);
  for (int i = threadIdx.x; i < 256; i += blockDim.x) y[i] = s[255 - i];
}
extern "C" __global__ void groups(const int* x, int* y) {
  auto block = cg::this_thread_block();
  auto four = cg::tiled_partition<4>(block);
  int v = x[threadIdx.x];
  int a = four.shfl_xor(v, 1) + four.any(v > 3) + 8 * four.meta_group_rank();
  auto eight = cg::tiled_partition<8>(block);
  int b = cg::inclusive_scan(eight, v);
  int c = cg::exclusive_scan(eight, v, cg::plus<int>());
  auto warp = cg::tiled_partition<32>(block);
  auto odd = cg::binary_partition(warp, (v & 1) == 1);
  int d = odd.size() * 100 + odd.thread_rank();
  auto label = cg::labeled_partition(warp, v & 3);
  int e = cg::reduce(label, 1, cg::plus<int>());
  int f = cg::reduce(four, v, cg::greater<int>());
  __shared__ cg::block_tile_memory<128> scratch;
  auto big = cg::this_thread_block(scratch);
  auto wide = cg::tiled_partition<64>(big);
  int g = cg::reduce(wide, v, cg::plus<int>());
  wide.sync();
  int* p = y + threadIdx.x * 7;
  p[0] = a; p[1] = b; p[2] = c; p[3] = d; p[4] = e; p[5] = f; p[6] = g;
}
