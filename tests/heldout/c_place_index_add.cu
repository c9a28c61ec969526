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
sums = scratch(max(out.numel, 1) * 8)
launch("begin", grid=cdiv(out.numel, 128), block=128, args=[x, ptr(sums, 0), out.numel])
launch("add", grid=cdiv(y.numel, 128), block=128, args=[ix, y, ptr(sums, 0), y.numel, places, inner, extent, factor])
launch("finish", grid=cdiv(out.numel, 128), block=128, args=[ptr(sums, 0), out, out.numel])
@*/

using A = kg::acc_t<T_out>;

__device__ void add_to(float* at, float value) {
    atomicAdd(at, value);
}
__device__ void add_to(double* at, double value) {
    atomicAdd(at, value);
}
__device__ void add_to(long long* at, long long value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
}

extern "C" __global__ void begin(const T_self* x, A* sums, long long count) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < count) {
        sums[i] = static_cast<A>(kg::to_acc(x[i]));
    }
}

extern "C" __global__ void finish(const A* sums, T_out* out, long long count) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < count) {
        out[i] = kg::from_acc<T_out>(static_cast<kg::acc_t<T_out>>(sums[i]));
    }
}

extern "C" __global__ void add(const T_index* index, const T_source* source, A* sums, long long count,
        long long places, long long inner, long long extent, kg::acc_t<T_out> alpha) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long in = i % inner;
    const long long k = i / inner % places;
    const long long outer = i / inner / places;
    const A value = static_cast<A>(alpha) * static_cast<A>(kg::to_acc(source[i]));
    add_to(&sums[(outer * extent + index[k]) * inner + in], value);
}
