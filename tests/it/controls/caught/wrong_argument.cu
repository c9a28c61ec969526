// op: relu  expect: plan_error  passes a float where the kernel takes an integer
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, 0.5])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        out[i] = x[i];
    }
}
