// op: relu  expect: wrong_output  writes no output at all
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < 0) {
        out[i] = x[i];
    }
}
