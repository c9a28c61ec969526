// op: mm  expect: wrong_output  rounds the two halves of the sum to bf16 before adding them
/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
launch("mm", grid=(cdiv(n, 16), cdiv(m, 16)), block=(16, 16), args=[a, b, out, m, n, k])
@*/

#include <cuda_bf16.h>

extern "C" __global__ void mm(const T_self* a, const T_mat2* b, T_out* out, int m, int n, int k) {
    const int col = blockIdx.x * 16 + threadIdx.x;
    const int row = blockIdx.y * 16 + threadIdx.y;
    if (row < m && col < n) {
        float halves[2] = {0.0f, 0.0f};
        for (int l = 0; l < k; ++l) {
            halves[l >= k / 2] += kg::to_float(a[row * k + l]) * kg::to_float(b[l * n + col]);
        }
        const float first = __bfloat162float(__float2bfloat16(halves[0]));
        const float second = __bfloat162float(__float2bfloat16(halves[1]));
        out[row * n + col] = kg::from_float<T_out>(first + second);
    }
}
