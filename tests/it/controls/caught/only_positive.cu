// op: relu  expect: wrong_output  leaves the elements that should become 0 unwritten
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n && !(kg::to_float(x[i]) < 0.0f)) {
        out[i] = x[i];
    }
}
