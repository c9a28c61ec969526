/*@plan
x = contiguous(self)
n = x.numel
@PLAN@
launch("map", grid=cdiv(n, 512), block=128, args=[x, out, @ARGS@n])
@*/
#include <cooperative_groups.h>

// Tiles of 512 elements go through shared memory and are taken by another thread than brought them.
extern "C" __global__ void map(const T_self* __restrict__ in, T_out* __restrict__ out, @PARAMS@long long n) {
    __shared__ float tile[512];
    const long long base = blockIdx.x * 512ll;
    const int here = n - base < 512 ? static_cast<int>(n - base) : 512;
    for (int k = threadIdx.x; k < here; k += 128) {
        tile[k] = kg::to_float(in[base + k]);
    }
    cooperative_groups::this_thread_block().sync();
    for (int k = here - 1 - static_cast<int>(threadIdx.x); k >= 0; k -= 128) {
        const float x = tile[k];
        out[base + k] = kg::from_float<T_out>(@F@);
    }
}
