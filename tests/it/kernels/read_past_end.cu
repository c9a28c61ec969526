// op: relu  expect: fault  cuda: passed  reads one element past the end of the input; the value is not used
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float value = kg::to_float(x[i]);
        const float next = kg::to_float(x[i + 1]);
        const float never = next == 1.25e-20f ? 1.0f : 0.0f;
        out[i] = kg::from_float<T_out>(value < 0.0f ? never : value);
    }
}
