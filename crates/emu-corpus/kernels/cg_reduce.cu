// Cooperative groups: reduce over tiles, coalesced groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void cg_reduce(const float* x, float* out, int n) {
    cg::thread_block b = cg::this_thread_block();
    cg::thread_block_tile<32> w = cg::tiled_partition<32>(b);
    __shared__ float s[32];
    float v = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    v = cg::reduce(w, v, cg::plus<float>());
    if (w.thread_rank() == 0) s[w.meta_group_rank()] = v;
    b.sync();
    if (w.meta_group_rank() == 0) {
        v = w.thread_rank() < w.meta_group_size() ? s[w.thread_rank()] : 0.f;
        for (int o = w.size() / 2; o > 0; o /= 2) v += w.shfl_down(v, o);
        if (w.thread_rank() == 0) atomicAdd(out, v);
    }
}
extern "C" __global__ void cg_int_coalesced(const int* x, int* out, int* cnt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        cg::coalesced_group g = cg::coalesced_threads();
        int base;
        if (g.thread_rank() == 0) base = atomicAdd(cnt, (int)g.size());
        base = g.shfl(base, 0);
        out[base + g.thread_rank()] = x[i];
    }
    auto w = cg::tiled_partition<32>(cg::this_thread_block());
    int s = cg::reduce(w, i < n ? x[i] : 0, cg::plus<int>());
    if (w.thread_rank() == 0) atomicMax(cnt + 1, s);
}
