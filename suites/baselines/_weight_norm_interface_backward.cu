// Baseline of _weight_norm_interface_backward: 32 lanes per slice, which is contiguous or one column.
/*@plan
x = contiguous(saved_v)
grad = contiguous(grad_w)
lengths = contiguous(saved_g)
norms = contiguous(saved_norms)
count = out1.numel
require(count == saved_v.shape[dim])
len_ = x.numel // max(count, 1)
next_slice, step = 1, count
if dim == 0:
    next_slice, step = len_, 1
launch("gradients", grid=cdiv(count, 4), block=(32, 4),
       args=[grad, x, lengths, norms, out0, out1, count, len_, next_slice, step])
@*/

__device__ float lane_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
}

extern "C" __global__ void gradients(const T_grad_w* __restrict__ grad, const T_saved_v* __restrict__ v,
                                     const T_saved_g* __restrict__ g, const T_saved_norms* __restrict__ norms,
                                     T_out0* __restrict__ of_v, T_out1* __restrict__ of_g,
                                     long long count, long long len, long long next, long long step) {
    const long long slice = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (slice >= count) {
        return;  // All lanes of the slice leave.
    }
    float sum = 0.0f;
    for (long long r = threadIdx.x; r < len; r += 32) {
        const long long at = slice * next + r * step;
        sum += kg::to_float(grad[at]) * kg::to_float(v[at]);
    }
    sum = lane_sum(sum);
    const float factor = 1.0f / kg::to_float(norms[slice]);
    const float cube = factor * factor * factor;
    const float length = kg::to_float(g[slice]);
    for (long long r = threadIdx.x; r < len; r += 32) {
        const long long at = slice * next + r * step;
        const float difference = factor * kg::to_float(grad[at]) - cube * kg::to_float(v[at]) * sum;
        of_v[at] = kg::from_float<T_out0>(length * difference);
    }
    if (threadIdx.x == 0) {
        of_g[slice] = kg::from_float<T_out1>(factor * sum);
    }
}
