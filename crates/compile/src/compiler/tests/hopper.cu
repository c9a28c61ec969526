#include <kg/hopper.cuh>

// A product of each type and width; KIND, N, TA and TB as in kg::wgmma.
template <kg::mma KIND, int N, int TA, int TB>
__global__ void __launch_bounds__(128) product(float* out) {
  __shared__ alignas(1024) unsigned char tile[16384];
  float sum[N / 2] = {};
  kg::wgmma_fence();
  kg::wgmma<KIND, N, TA, TB>(sum, kg::wgmma_descriptor<128>(tile), kg::wgmma_descriptor<64>(tile, 512, 1024), false);
  kg::wgmma<KIND, N, TA, TB>(sum, kg::wgmma_descriptor<0>(tile, 128, 256),
                             kg::wgmma_advance(kg::wgmma_descriptor<32>(tile), 32));
  kg::wgmma_commit();
  kg::wgmma_wait<0>();
  kg::wgmma_hold(sum);
  for (int i = 0; i < N / 2; ++i) out[threadIdx.x * 128 + i] = sum[i];
}

template <kg::mma KIND, int N, int TB> __global__ void __launch_bounds__(128) from_registers(float* out) {
  __shared__ alignas(1024) unsigned char tile[16384];
  float sum[N / 2] = {};
  uint32_t a[4];
  kg::ldmatrix(a, tile + threadIdx.x * 16);
  kg::wgmma_fence();
  kg::wgmma<KIND, N, TB>(sum, a, kg::wgmma_descriptor<128>(tile));
  kg::wgmma_commit();
  kg::wgmma_wait<0>();
  kg::wgmma_hold(sum);
  for (int i = 0; i < N / 2; ++i) out[threadIdx.x * 128 + i] = sum[i];
}

extern "C" __global__ void __launch_bounds__(128, 1)
copies(const __grid_constant__ CUtensorMap map, float* out, int n) {
  __shared__ alignas(1024) unsigned char tile[16384];
  __shared__ alignas(8) uint64_t bars[2];
  uint64_t* bar = &bars[0];
  if (threadIdx.x == 0) {
    kg::tma_prefetch(&map);
    kg::mbarrier_init(bar, 1);
    kg::mbarrier_init(&bars[1], 1);
    kg::fence_mbarrier_init();
  }
  kg::cluster_sync();
  kg::dependency_wait();
  if (threadIdx.x < 32 && kg::elect_one()) {
    kg::mbarrier_arrive_expect_tx(bar, 4096);
    kg::mbarrier_expect_tx(bar, 4096);
    kg::tma_load(tile, &map, bar, n);
    kg::tma_load(tile, &map, bar, n, 1);
    kg::tma_load(tile, &map, bar, n, 1, 2);
    kg::tma_load(tile, &map, bar, n, 1, 2, 3);
    kg::tma_load(tile, &map, bar, n, 1, 2, 3, 4);
    kg::tma_load_multicast(tile, &map, bar, 3, n);
    kg::tma_load_multicast(tile, &map, bar, 3, n, 1);
    kg::tma_load_multicast(tile, &map, bar, 3, n, 1, 2);
    kg::tma_load_multicast(tile, &map, bar, 3, n, 1, 2, 3);
    kg::tma_load_multicast(tile, &map, bar, 3, n, 1, 2, 3, 4);
    kg::tma_load_im2col(tile, &map, bar, n, 1, 2, 1);
    kg::tma_load_im2col(tile, &map, bar, n, 1, 2, 3, 1, 2);
    kg::tma_load_im2col(tile, &map, bar, n, 1, 2, 3, 4, 1, 2, 3);
    kg::tma_load_im2col_multicast(tile, &map, bar, 1, n, 1, 2, 1);
    kg::tma_load_im2col_multicast(tile, &map, bar, 1, n, 1, 2, 3, 1, 2);
    kg::tma_load_im2col_multicast(tile, &map, bar, 1, n, 1, 2, 3, 4, 1, 2, 3);
    kg::bulk_load(tile, out, 1024, bar);
    kg::bulk_load_multicast(tile, out, 1024, bar, 3);
    kg::bulk_to_peer(tile, tile + 2048, 1024, bar, 1);
  }
  kg::mbarrier_wait(bar, 0);
  kg::mbarrier_wait_cluster(bar, 0);
  kg::mbarrier_arrive(bar);
  kg::mbarrier_arrive(bar, 1);
  kg::registers_dec<40>();
  kg::registers_inc<232>();
  uint32_t one[1], two[2], four[4];
  kg::ldmatrix(one, tile);
  kg::ldmatrix(two, tile);
  kg::ldmatrix<true>(one, tile);
  kg::ldmatrix<true>(two, tile);
  kg::ldmatrix<true>(four, tile);
  kg::stmatrix(tile, one);
  kg::stmatrix(tile, two);
  kg::stmatrix(tile, four);
  kg::stmatrix<true>(tile, one);
  kg::stmatrix<true>(tile, two);
  kg::stmatrix<true>(tile, four);
  kg::barrier_sync(1, 128);
  kg::fence_async_shared();
  kg::fence_async();
  *kg::cluster_peer(reinterpret_cast<float*>(tile), kg::cluster_rank() ^ 1) = kg::cluster_size();
  kg::launch_dependents();
  if (threadIdx.x == 0) {
    kg::tma_store(&map, tile, n);
    kg::tma_store(&map, tile, n, 1);
    kg::tma_store(&map, tile, n, 1, 2);
    kg::tma_store(&map, tile, n, 1, 2, 3);
    kg::tma_store(&map, tile, n, 1, 2, 3, 4);
    kg::bulk_store(out, tile, 1024);
    kg::bulk_commit();
    kg::bulk_wait_read<1>();
    kg::bulk_wait<0>();
    kg::mbarrier_inval(bar);
  }
  kg::cluster_sync();
}
