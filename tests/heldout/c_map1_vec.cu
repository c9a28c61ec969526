/*@plan
x = contiguous(self)
n = x.numel
@PLAN@
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
launch("map", grid=min(cdiv(n, 128 * vec) , 8 * sm_count), block=128, args=[x, out, @ARGS@n])
@*/

// Packs of 16 bytes, and single elements for the rest.
struct alignas(VEC * sizeof(T_self)) In { T_self v[VEC]; };

extern "C" __global__ void map(const T_self* __restrict__ in, T_out* __restrict__ out, @PARAMS@long long n) {
    const long long first = blockIdx.x * 128ll + threadIdx.x;
    const long long step = 128ll * gridDim.x;
    const long long packs = n / VEC;
    for (long long p = first; p < packs; p += step) {
        const In pack = reinterpret_cast<const In*>(in)[p];
#pragma unroll
        for (int k = 0; k < VEC; ++k) {
            const float x = kg::to_float(pack.v[k]);
            out[p * VEC + k] = kg::from_float<T_out>(@F@);
        }
    }
    for (long long i = packs * VEC + first; i < n; i += step) {
        const float x = kg::to_float(in[i]);
        out[i] = kg::from_float<T_out>(@F@);
    }
}
