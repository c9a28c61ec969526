/*@plan
channels = out.shape[1]
pixels = out.shape[2] * out.shape[3]
total = out.numel
vec = define("VEC", 4 if pixels % 4 == 0 else 1)
block = param("BLOCK", [256, 128, 512])
# The convolution goes into the output, which the epilogue then works on in place.
convolution(contiguous(x), contiguous(conv_weight), out, padding=1)
launch("epilogue", grid=min(cdiv(total, block * vec), 32 * sm_count), block=block,
       args=[out, contiguous(conv_bias), contiguous(bias), total, pixels, channels])
@*/

struct alignas(VEC * sizeof(T_out)) Chunk {
    T_out element[VEC];
};

extern "C" __global__ void epilogue(T_out* __restrict__ out, const T_conv_bias* __restrict__ before,
                                    const T_bias* __restrict__ after, long long total, long long pixels,
                                    long long channels) {
    Chunk* chunks = reinterpret_cast<Chunk*>(out);
    const long long step = (long long)gridDim.x * BLOCK;
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < total / VEC; i += step) {
        Chunk chunk = chunks[i];
        const long long channel = i * VEC / pixels % channels;
        const float shift = kg::to_float(before[channel]);
        const float bias = kg::to_float(after[channel]);
        for (int j = 0; j < VEC; ++j) {
            const float h = kg::to_float(chunk.element[j]) + shift;
            // False for NaN, which therefore stays.
            chunk.element[j] = kg::from_float<T_out>((h <= 0.0f ? 0.0f : h) + bias);
        }
        chunks[i] = chunk;
    }
}
