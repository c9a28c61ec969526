// op: relu  expect: wrong_output|fault  reads a strided input as if it were contiguous
/*@plan
n = self.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[self, out, n])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float value = kg::to_float(x[i]);
        out[i] = kg::from_float<T_out>(value < 0.0f ? 0.0f : value);
    }
}
