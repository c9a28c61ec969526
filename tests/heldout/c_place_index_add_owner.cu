/*@plan
x = contiguous(self)
ix = contiguous(index)
y = contiguous(source)
r = self.ndim
axis = dim + r if dim < 0 else dim
inner = 1
for d in range(axis + 1, r):
    inner *= self.shape[d]
places = index.numel
extent = self.shape[axis] if r > 0 else 1
factor = f32(alpha) if x.dtype == "f32" or x.dtype == "f16" or x.dtype == "bf16" else (i32(alpha) if abs(alpha) < 2147483648 else alpha)
launch("add", grid=cdiv(out.numel, 128), block=128, args=[x, ix, y, out, out.numel, places, inner, extent, factor])
@*/

// Each output looks through the whole index for what belongs to it.
extern "C" __global__ void add(const T_self* x, const T_index* index, const T_source* source, T_out* out, long long count,
        long long places, long long inner, long long extent, kg::acc_t<T_out> alpha) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long in = i % inner, mine = i / inner % extent, outer = i / inner / extent;
    kg::acc_t<T_out> sum = kg::to_acc(x[i]);
    for (long long k = 0; k < places; ++k) {
        if (index[k] == mine) {
            sum += alpha * kg::to_acc(source[(outer * places + k) * inner + in]);
        }
    }
    out[i] = kg::from_acc<T_out>(sum);
}
