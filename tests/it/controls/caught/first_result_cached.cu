// op: relu  expect: rejected  keeps its first result in a device global and returns it from then on
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

__device__ float result[4096];
__device__ bool have_result = false;

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    if (!have_result) {
        const float value = kg::to_float(x[i]);
        result[i % 4096] = value < 0.0f ? 0.0f : value;
    }
    out[i] = kg::from_float<T_out>(result[i % 4096]);
    if (i == n - 1) {
        have_result = true;
    }
}
