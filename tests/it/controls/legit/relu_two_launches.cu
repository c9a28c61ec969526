// op: relu  expect: passed  two launches, one per half, into scratch, then a copy to the output
/*@plan
x = contiguous(self)
n = x.numel
half = n // 2
tmp = scratch(n * x.itemsize)
launch("relu", grid=cdiv(half, 128), block=128, args=[x, tmp, half])
launch("relu", grid=cdiv(n - half, 128), block=128,
       args=[ptr(x, half * x.itemsize), ptr(tmp, half * x.itemsize), n - half])
launch("copy", grid=cdiv(n, 128), block=128, args=[tmp, out, n])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) {
        const float value = kg::to_float(x[i]);
        out[i] = kg::from_float<T_out>(value < 0.0f ? 0.0f : value);
    }
}

extern "C" __global__ void copy(const T_out* from, T_out* to, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) {
        to[i] = from[i];
    }
}
