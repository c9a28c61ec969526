// op: relu  expect: uninitialised  an asm statement promises a zero and writes none
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    float zero;
    asm volatile("" : "=f"(zero));
    if (i < n) {
        const float value = kg::to_float(x[i]);
        out[i] = kg::from_float<T_out>(value < 0.0f ? zero : value);
    }
}
