/*@plan
rows = x.shape[0]
k = x.shape[1]
n = linear_weight.shape[0]
a = contiguous(x)
w = contiguous(linear_weight)
total = rows * n
vec = define("VEC", 4 if n % 4 == 0 else 1)
block = param("BLOCK", [256, 128, 512])
# The product goes into the output, which the epilogue then works on in place.
matmul(a, w, out, m=rows, n=n, k=k, trans_b=True)
launch("epilogue", grid=min(cdiv(total, block * vec), 32 * sm_count), block=block,
       args=[out, contiguous(linear_bias), contiguous(scale), total, n])
@*/

struct alignas(VEC * sizeof(T_out)) Chunk {
    T_out element[VEC];
};

extern "C" __global__ void epilogue(T_out* __restrict__ out, const T_linear_bias* __restrict__ bias,
                                    const T_scale* __restrict__ scale, long long total, long long n) {
    Chunk* chunks = reinterpret_cast<Chunk*>(out);
    const long long step = (long long)gridDim.x * BLOCK;
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < total / VEC; i += step) {
        Chunk chunk = chunks[i];
        const long long column = i * VEC % n;
        for (int j = 0; j < VEC; ++j) {
            const float h = kg::to_float(chunk.element[j]) + kg::to_float(bias[column + j]);
            const float gelu = 0.5f * h * (1.0f + erff(h * 0.70710678118654752f));
            chunk.element[j] = kg::from_float<T_out>(gelu * kg::to_float(scale[column + j]));
        }
        chunks[i] = chunk;
    }
}
