// relu: out[i] = self[i] if self[i] > 0, else 0; NaN stays NaN.
//
// The plan below is evaluated once per case. `x.align` and the divisibility of `n` decide whether
// 16 bytes are moved at a time; that is a compile-time choice, so it is a macro.
/*@plan
x = contiguous(self)
n = x.numel
per_16_bytes = 16 // x.itemsize
vec = define("VEC", per_16_bytes if x.align >= 16 and n % per_16_bytes == 0 else 1)
block = param("BLOCK", [128, 256, 512])   # the first is the default; kgen tries the others
launch("relu", grid=min(cdiv(n, block * vec), 16 * sm_count), block=block, args=[x, out, n])
@*/

struct alignas(VEC * sizeof(T_self)) Chunk {
    T_self element[VEC];
};

extern "C" __global__ void relu(const Chunk* __restrict__ x, Chunk* __restrict__ out, long long n) {
    const long long step = static_cast<long long>(gridDim.x) * BLOCK;
    for (long long i = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x; i < n / VEC;
         i += step) {
        Chunk chunk = x[i];
        for (T_self& element : chunk.element) {
            const float value = kg::to_float(element);
            if (value <= 0.0f) {  // False for NaN, which therefore stays.
                element = kg::from_float<T_self>(0.0f);
            }
        }
        out[i] = chunk;
    }
}
