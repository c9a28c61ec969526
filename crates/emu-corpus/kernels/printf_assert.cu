// Scales, asserts a bound that holds and prints the few large values.
#include <cassert>
extern "C" __global__ void scale_checked(const float* __restrict__ x, float* __restrict__ y, int* __restrict__ large, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        assert(x[i] < 1e30f && "input is bounded");
        if (x[i] > 1.98f) {
            printf("x[%d] = %f in block (%d,%d), %s %5.2e %u%%\n", i, x[i], blockIdx.x, blockIdx.y, "large", (double)x[i], 100u);
            atomicAdd(large, 1);
        }
        y[i] = x[i] * 0.5f;
    }
}
