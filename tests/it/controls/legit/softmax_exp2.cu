// op: softmax  expect: passed  exponentials of base two
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
    float maximum = -INFINITY;
    for (int i = 0; i < length; ++i) {
        maximum = fmaxf(maximum, kg::to_float(x[base + i * inner]));
    }
    float sum = 0.0f;
    for (int i = 0; i < length; ++i) {
        sum += exp2f((kg::to_float(x[base + i * inner]) - maximum) * 1.4426950408889634f);
    }
    const float scale = 1.0f / sum;
    for (int i = 0; i < length; ++i) {
        const float value = (kg::to_float(x[base + i * inner]) - maximum) * 1.4426950408889634f;
        out[base + i * inner] = kg::from_float<T_out>(exp2f(value) * scale);
    }
}
