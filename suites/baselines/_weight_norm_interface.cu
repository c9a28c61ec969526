// Baseline of _weight_norm_interface: 32 lanes per slice, which is contiguous or one column.
/*@plan
x = contiguous(v)
lengths = contiguous(g)
count = out1.numel
# PyTorch's shape function gives one norm for a v of one dimension, its kernels one per element.
require(count == v.shape[dim])
len_ = x.numel // max(count, 1)
next_slice, step = 1, count
if dim == 0:
    next_slice, step = len_, 1
launch("weight_norm", grid=cdiv(count, 4), block=(32, 4),
       args=[x, lengths, out0, out1, count, len_, next_slice, step])
@*/

__device__ float lane_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

extern "C" __global__ void weight_norm(const T_v* __restrict__ v, const T_g* __restrict__ g,
                                       T_out0* __restrict__ out, T_out1* __restrict__ norms,
                                       long long count, long long len, long long next, long long step) {
    const long long slice = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (slice >= count) {
        return;  // All lanes of the slice leave.
    }
    float squares = 0.0f;
    for (long long r = threadIdx.x; r < len; r += 32) {
        const float x = kg::to_float(v[slice * next + r * step]);
        squares += x * x;
    }
    const float norm = sqrtf(lane_sum(squares));
    const float length = kg::to_float(g[slice]);
    for (long long r = threadIdx.x; r < len; r += 32) {
        const long long at = slice * next + r * step;
        out[at] = kg::from_float<T_out0>(kg::to_float(v[at]) / norm * length);
    }
    if (threadIdx.x == 0) {
        norms[slice] = kg::from_float<T_out1>(norm);
    }
}
