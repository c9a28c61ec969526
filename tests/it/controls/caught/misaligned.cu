// op: relu  expect: fault|wrong_output  moves 16 bytes at a time, however the input is aligned
/*@plan
x = contiguous(self)
n = x.numel
define("VEC", 16 // x.itemsize)
launch("relu", grid=cdiv(n, 256 * (16 // x.itemsize)), block=256, args=[x, out, n])
@*/

struct alignas(16) Pack {
    T_self at[VEC];
};

extern "C" __global__ void relu(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    const long long first = i * VEC;
    if (first + VEC <= n) {
        Pack pack = reinterpret_cast<const Pack*>(x)[i];
        for (int j = 0; j < VEC; ++j) {
            const float value = kg::to_float(pack.at[j]);
            pack.at[j] = kg::from_float<T_out>(value < 0.0f ? 0.0f : value);
        }
        reinterpret_cast<Pack*>(out)[i] = pack;
    } else {
        for (long long j = first; j < n; ++j) {
            const float value = kg::to_float(x[j]);
            out[j] = kg::from_float<T_out>(value < 0.0f ? 0.0f : value);
        }
    }
}
