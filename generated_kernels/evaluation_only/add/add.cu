// add: out = self + alpha * other, with broadcasting.
//
// `expand` makes a contiguous copy of a broadcast or strided input and returns a contiguous one of
// the right shape as it is. The copy's time counts, so this is the simple way, not the fast one:
// suites/baselines/add.cu reads broadcast inputs in place.
/*@plan
a = expand(self, out.shape)
b = expand(other, out.shape)
n = out.numel
launch("add", grid=cdiv(n, 256), block=256, args=[a, b, out, alpha, n])
@*/

// Both inputs have the output's type here, as PyTorch promotes them first.
template <class T> __device__ T add_scaled(T x, T y, float alpha) {
    return kg::from_float<T>(fmaf(alpha, kg::to_float(y), kg::to_float(x)));
}

// An f32 holds 24 bits of an integer; unsigned arithmetic wraps around.
__device__ long long add_scaled(long long x, long long y, float alpha) {
    const unsigned long long factor = static_cast<long long>(alpha);
    return static_cast<unsigned long long>(x) + factor * static_cast<unsigned long long>(y);
}

__device__ int add_scaled(int x, int y, float alpha) {
    return static_cast<int>(add_scaled(static_cast<long long>(x), static_cast<long long>(y), alpha));
}

extern "C" __global__ void add(const T_self* __restrict__ a, const T_other* __restrict__ b,
                               T_out* __restrict__ out, float alpha, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        out[i] = add_scaled(static_cast<T_out>(a[i]), static_cast<T_out>(b[i]), alpha);
    }
}
