// op: softmax  expect: wrong_output  does not subtract the maximum: large logits overflow
/*@plan
x = contiguous(self)
axis = dim + x.ndim if dim < 0 else dim
length = x.shape[axis]
inner = 1
for i in range(axis + 1, x.ndim):
    inner *= x.shape[i]
slices = x.numel // max(length, 1)
launch("softmax", grid=cdiv(slices, 64), block=64, args=[x, out, slices, length, inner])
@*/

extern "C" __global__ void softmax(const T_self* x, T_out* out, long long slices, int length,
                                   long long inner) {
    const long long slice = blockIdx.x * 64ll + threadIdx.x;
    if (slice >= slices) {
        return;
    }
    const long long base = slice / inner * inner * length + slice % inner;
    float sum = 0.0f;
    for (int i = 0; i < length; ++i) {
        sum += expf(kg::to_float(x[base + i * inner]));
    }
    for (int i = 0; i < length; ++i) {
        out[base + i * inner] =
            kg::from_float<T_out>(expf(kg::to_float(x[base + i * inner])) / sum);
    }
}
