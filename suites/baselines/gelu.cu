// Baseline of gelu: 16-byte loads and stores in a grid-stride loop; both forms as accurate as the
// element type.
/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
define("TANH", approximate == "tanh")
grid = min(cdiv(n, 256 * vec), 128 * sm_count)
launch("gelu", grid=grid, block=256, args=[x, out, n])
@*/

struct alignas(sizeof(T_self) * VEC) Pack {
    T_self at[VEC];
};

#if TANH
// 0.5 * (1 + tanh(y)) is 1 / (1 + exp(-2 y)), here with an exponential that cannot overflow. For
// 16-bit types the fast one is accurate enough, which leaves the memory as the limit.
__device__ __forceinline__ float gelu_of(float x) {
    const float y = 1.5957691216057308f * (x + 0.044715f * x * x * x);
    const float e = sizeof(T_out) < 4 ? __expf(-fabsf(y)) : expf(-fabsf(y));
    return __fdividef(y < 0.0f ? x * e : x, 1.0f + e);
}
#else
// 0.5 * erfc(x / sqrt(2)) for x >= 0 to 1e-7 (Abramowitz and Stegun, 7.1.26), in half the
// instructions of erff, for which 16-bit types leave no time.
__device__ __forceinline__ float upper_tail(float x) {
    const float k = __fdividef(1.0f, 1.0f + 0.231641888f * x);
    const float tail = 0.127414796f + k * (-0.142248368f + k * (0.7107068705f +
                       k * (-0.7265760135f + k * 0.5307027145f)));
    return k * tail * __expf(-0.5f * x * x);
}

__device__ __forceinline__ float gelu_of(float x) {
    if (sizeof(T_out) >= 4) {
        return 0.5f * x * (1.0f + erff(x * 0.7071067811865476f));
    }
    const float tail = upper_tail(fabsf(x));
    return x * (x < 0.0f ? tail : 1.0f - tail);
}
#endif

// A grid-stride loop over 16-byte packs; the first threads take the tail.
extern "C" __global__ void __launch_bounds__(256)
gelu(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long n_packs = n / VEC;
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (long long i = first; i < n_packs; i += stride) {
        Pack pack = reinterpret_cast<const Pack*>(x)[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            pack.at[j] = kg::from_float<T_out>(gelu_of(kg::to_float(pack.at[j])));
        }
        reinterpret_cast<Pack*>(out)[i] = pack;
    }
    const long long tail = n_packs * VEC + first;
    if (tail < n) {
        out[tail] = kg::from_float<T_out>(gelu_of(kg::to_float(x[tail])));
    }
}
