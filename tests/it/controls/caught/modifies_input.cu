// op: relu  expect: input_modified  works in place first, then copies to the output
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void relu(T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float value = kg::to_float(x[i]);
        x[i] = kg::from_float<T_self>(value < 0.0f ? 0.0f : value);
        out[i] = x[i];
    }
}
