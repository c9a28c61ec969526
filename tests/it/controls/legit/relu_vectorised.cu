// op: relu  expect: passed  16 bytes at a time where the alignment allows it, the tail apart; reads strides itself
/*@plan
n = self.numel
if self.contiguous and self.align >= 16:
    define("VEC", 16 // self.itemsize)
    launch("packed", grid=max(1, cdiv(n // (16 // self.itemsize), 128)) if n else 0, block=128,
           args=[self, out, n])
else:
    define("VEC", 1)
    x = contiguous(self)
    launch("plain", grid=cdiv(n, 128), block=128, args=[x, out, n])
@*/

struct alignas(VEC * sizeof(T_self)) Pack {
    T_self at[VEC];
};

__device__ T_out relu_of(T_self x) {
    return kg::from_float<T_out>(kg::to_float(x) < 0.0f ? 0.0f : kg::to_float(x));
}

extern "C" __global__ void packed(const uint4* x, uint4* out, long long n) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n / VEC) {
        Pack pack = reinterpret_cast<const Pack*>(x)[i];
        for (int j = 0; j < VEC; ++j) {
            pack.at[j] = relu_of(pack.at[j]);
        }
        reinterpret_cast<Pack*>(out)[i] = pack;
    }
    const long long tail = n / VEC * VEC + i;
    if (tail < n) {
        reinterpret_cast<T_out*>(out)[tail] = relu_of(reinterpret_cast<const T_self*>(x)[tail]);
    }
}

extern "C" __global__ void plain(const T_self* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) {
        out[i] = relu_of(x[i]);
    }
}
