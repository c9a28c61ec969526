// Baseline of rope: one thread per pair.
/*@plan
x = contiguous(self)
c = contiguous(cos)
s = contiguous(sin)
rows = max(1, x.shape[2])
half = max(1, x.shape[3] // 2)
n = x.numel // 2
launch("rope", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, c, s, out, n, rows, half, interleaved])
@*/

extern "C" __global__ void __launch_bounds__(256)
rope(const T_self* __restrict__ x, const T_cos* __restrict__ cos, const T_sin* __restrict__ sin,
     T_out* __restrict__ out, long long n, long long rows, long long half, bool interleaved) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long row = i / half;
        const long long pair = i % half;
        const long long first = row * 2 * half + (interleaved ? 2 * pair : pair);
        const long long second = first + (interleaved ? 1 : half);
        const long long angle = row % rows * half + pair;
        const float a = kg::to_float(x[first]);
        const float b = kg::to_float(x[second]);
        const float c = kg::to_float(cos[angle]);
        const float s = kg::to_float(sin[angle]);
        out[first] = kg::from_float<T_out>(a * c - b * s);
        out[second] = kg::from_float<T_out>(b * c + a * s);
    }
}
