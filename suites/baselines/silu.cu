// Baseline of silu: 16-byte loads and stores in a grid-stride loop.
/*@plan
x = contiguous(self)
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
grid = min(cdiv(n, 256 * vec), 16 * sm_count)
launch("silu", grid=grid, block=256, args=[x, out, n])
@*/

struct alignas(sizeof(T_self) * VEC) Pack {
    T_self at[VEC];
};

__device__ __forceinline__ float silu_of(float x) { return x / (1.0f + expf(-x)); }

// A grid-stride loop over 16-byte packs; the first threads take the tail.
extern "C" __global__ void __launch_bounds__(256)
silu(const T_self* __restrict__ x, T_out* __restrict__ out, long long n) {
    const long long n_packs = n / VEC;
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (long long i = first; i < n_packs; i += stride) {
        Pack pack = reinterpret_cast<const Pack*>(x)[i];
#pragma unroll
        for (int j = 0; j < VEC; ++j) {
            pack.at[j] = kg::from_float<T_out>(silu_of(kg::to_float(pack.at[j])));
        }
        reinterpret_cast<Pack*>(out)[i] = pack;
    }
    const long long tail = n_packs * VEC + first;
    if (tail < n) {
        out[tail] = kg::from_float<T_out>(silu_of(kg::to_float(x[tail])));
    }
}
