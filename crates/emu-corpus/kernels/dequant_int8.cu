// int8 weights to float, four at a time, with scale and zero point per row.
extern "C" __global__ void dequant_int8(const signed char* __restrict__ q, const float* __restrict__ scale, const int* __restrict__ zero,
                                        float* __restrict__ w, int cols) {
    int row = blockIdx.y;
    float s = scale[row];
    int z = zero[row];
    const char4* in = reinterpret_cast<const char4*>(q + row * cols);
    float4* out = reinterpret_cast<float4*>(w + row * cols);
    int quads = cols / 4;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        char4 v = in[i];
        float4 f;
        f.x = (v.x - z) * s;
        f.y = (v.y - z) * s;
        f.z = (v.z - z) * s;
        f.w = (v.w - z) * s;
        out[i] = f;
    }
}
