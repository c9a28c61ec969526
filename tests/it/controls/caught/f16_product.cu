// op: mul  expect: wrong_output  rounds both factors to f16 first
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("mul", grid=cdiv(n, 256), block=256, args=[a, b, out, n])
@*/

#include <cuda_fp16.h>

extern "C" __global__ void mul(const T_self* a, const T_other* b, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const __half x = __float2half(kg::to_float(a[i]));
        const __half y = __float2half(kg::to_float(b[i]));
        out[i] = kg::from_float<T_out>(__half2float(x) * __half2float(y));
    }
}
