// Baseline of softmax_backward_data: 32 lanes add up a slice, then write it.
/*@plan
g = contiguous(grad_output)
y = contiguous(output)
d = dim if dim >= 0 else dim + g.ndim
outer = prod(g.shape, 0, d)
extent = g.shape[d] if g.ndim > 0 else 1
inner = prod(g.shape, d + 1)
launch("slices", grid=cdiv(outer * inner, 4), block=(32, 4), args=[g, y, out, outer * inner, extent, inner])
@*/

extern "C" __global__ void slices(const T_grad_output* __restrict__ grad,
                                  const T_output* __restrict__ y, T_out* __restrict__ out,
                                  long long n, long long extent, long long inner) {
    const long long slice = static_cast<long long>(blockIdx.x) * blockDim.y + threadIdx.y;
    if (slice >= n) {
        return;  // All lanes of the slice leave.
    }
    const auto at = [=](long long j) { return (slice / inner * extent + j) * inner + slice % inner; };
    float total = 0.0f;
    for (long long j = threadIdx.x; j < extent; j += 32) {
        total += kg::to_float(grad[at(j)]) * kg::to_float(y[at(j)]);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, offset);
    }
    for (long long j = threadIdx.x; j < extent; j += 32) {
        const float g = kg::to_float(grad[at(j)]), value = kg::to_float(y[at(j)]);
        out[at(j)] = kg::from_float<T_out>((g - total) * value);
    }
}
