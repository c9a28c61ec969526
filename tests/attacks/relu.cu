/*@plan
x = contiguous(self)
n = x.numel
launch("k", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void k(const T_self* x, T_out* y, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float v = kg::to_float(x[i]);
    y[i] = kg::from_float<T_out>(v < 0 ? 0.0f : v);
}
