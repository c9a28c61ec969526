// op: relu  expect: race|uninitialised  neighbours swap values through shared memory without a barrier
/*@plan
x = contiguous(self)
n = x.numel
launch("relu", grid=cdiv(n, 256), block=256, args=[x, out, n])
@*/

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    __shared__ float tile[256];
    const long long first = blockIdx.x * 256ll;
    const long long i = first + threadIdx.x;
    tile[threadIdx.x] = i < n ? kg::to_float(x[i]) : 0.0f;
    const int other = 255 - threadIdx.x;
    const float value = tile[other];
    if (first + other < n) {
        out[first + other] = kg::from_float<T_out>(value < 0.0f ? 0.0f : value);
    }
}
