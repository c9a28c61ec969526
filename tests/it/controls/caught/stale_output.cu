// op: relu  expect: uninitialised  reads the output before anything was written to it
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        const float value = kg::to_float(x[i]);
        const float old = kg::to_float(out[i]);
        out[i] = kg::from_float<T_out>(value < 0.0f ? 0.0f : fmaxf(old, value));
    }
}
