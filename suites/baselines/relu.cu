// Baseline of relu: 16-byte loads and stores.
/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
launch("relu", grid=cdiv(n, 128 * vec), block=128, args=[x, out, n])
@*/

struct alignas(sizeof(T_self) * VEC) Pack {
    T_self at[VEC];
};

// Written as a comparison so that NaN stays NaN, which fmaxf would drop; what is kept is never
// converted, as f32 does not hold every integer.
__device__ __forceinline__ T_out relu_of(T_self x) {
    return kg::to_float(x) < 0.0f ? kg::from_float<T_out>(0.0f) : x;
}

// A pack per thread; the first threads take the tail.
extern "C" __global__ void __launch_bounds__(128)
relu(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long n_packs = n / VEC;
    if (i < n_packs) {
        Pack pack = reinterpret_cast<const Pack*>(x)[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            pack.at[j] = relu_of(pack.at[j]);
        }
        reinterpret_cast<Pack*>(out)[i] = pack;
    }
    const long long tail = n_packs * VEC + i;
    if (tail < n) {
        out[tail] = relu_of(x[tail]);
    }
}
