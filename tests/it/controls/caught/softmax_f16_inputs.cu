// op: softmax  expect: wrong_output  computes on inputs rounded to f16
/*@plan
x = contiguous(self)
axis = dim + x.ndim if dim < 0 else dim
length = x.shape[axis]
inner = 1
for i in range(axis + 1, x.ndim):
    inner *= x.shape[i]
slices = x.numel // max(length, 1)
launch("softmax", grid=cdiv(slices, 64), block=64, args=[x, out, slices, length, inner])
@*/

#include <cuda_fp16.h>

__device__ float half_of(T_self x) { return __half2float(__float2half(kg::to_float(x))); }

extern "C" __global__ void softmax(const T_self* x, T_out* out, long long slices, int length,
                                   long long inner) {
    const long long slice = blockIdx.x * 64ll + threadIdx.x;
    if (slice >= slices) {
        return;
    }
    const long long base = slice / inner * inner * length + slice % inner;
    float maximum = -INFINITY;
    for (int i = 0; i < length; ++i) {
        maximum = fmaxf(maximum, half_of(x[base + i * inner]));
    }
    float sum = 0.0f;
    for (int i = 0; i < length; ++i) {
        sum += expf(half_of(x[base + i * inner]) - maximum);
    }
    for (int i = 0; i < length; ++i) {
        const float value = half_of(x[base + i * inner]);
        out[base + i * inner] = kg::from_float<T_out>(expf(value - maximum) / sum);
    }
}
