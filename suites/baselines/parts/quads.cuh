#include "packed.cuh"

// Tensor cores leave their sums in quads of lanes: of 32 columns a lane has two of every eight. These functions
// exchange them, so that lane i of a quad has the eight columns from 8 * i on, in a type of 16 bits.
struct alignas(16) Sixteen {
    unsigned pairs[4];
};

// All lanes of a warp call it.
__device__ __forceinline__ Sixteen eight_columns(const unsigned (&own)[4]) {
    const int lane = threadIdx.x % 4;
    Sixteen all;
#pragma unroll
    for (int round = 0; round < 4; ++round) {
        // Gives the lane `round` before this one its columns, and takes from the lane `round` after.
        const int to = (lane - round) & 3;
        const int from = (lane + round) & 3;
        const unsigned give = to == 0 ? own[0] : to == 1 ? own[1] : to == 2 ? own[2] : own[3];
        const unsigned got = __shfl_sync(0xffffffffu, give, from, 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            all.pairs[i] = from == i ? got : all.pairs[i];
        }
    }
    return all;
}
