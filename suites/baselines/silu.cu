// Baseline of silu: 16-byte loads and stores.
/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
launch("silu", grid=cdiv(n, 128 * vec), block=128, args=[x, out, n])
@*/

struct alignas(sizeof(T_self) * VEC) Pack {
    T_self at[VEC];
};

// x / (1 + exp(-x)) with an exponential that cannot overflow. For 16-bit types the fast one is
// accurate enough, which leaves the memory as the limit.
__device__ __forceinline__ float silu_of(float x) {
    const float e = sizeof(T_out) < 4 ? __expf(-fabsf(x)) : expf(-fabsf(x));
    return __fdividef(x < 0.0f ? x * e : x, 1.0f + e);
}

// A pack per thread; the first threads take the tail.
extern "C" __global__ void __launch_bounds__(128)
silu(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long n_packs = n / VEC;
    if (i < n_packs) {
        Pack pack = reinterpret_cast<const Pack*>(x)[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            pack.at[j] = kg::from_float<T_out>(silu_of(kg::to_float(pack.at[j])));
        }
        reinterpret_cast<Pack*>(out)[i] = pack;
    }
    const long long tail = n_packs * VEC + i;
    if (tail < n) {
        out[tail] = kg::from_float<T_out>(silu_of(kg::to_float(x[tail])));
    }
}
