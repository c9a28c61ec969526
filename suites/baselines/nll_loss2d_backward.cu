// Baseline of nll_loss2d_backward: one thread per element.
/*@plan
g = contiguous(grad_output)
y = contiguous(target)
w = contiguous(weight)
n = out.numel
classes = max(1, out.shape[1])
inner = max(1, out.shape[2] * out.shape[3])
launch("each", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[g, y, w, total_weight, out, n, classes, inner, ignore_index, reduction == 1, reduction == 0])
@*/

extern "C" __global__ void __launch_bounds__(256)
each(const T_grad_output* __restrict__ grad, const T_target* __restrict__ target,
     const T_weight* __restrict__ weight, const T_total_weight* __restrict__ total,
     T_out* __restrict__ out, long long n, long long classes, long long inner, long long ignored, bool mean,
     bool kept) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const long long row = i / inner / classes * inner + i % inner, label = target[row];
        float value = 0.0f;
        if (label != ignored && label == i / inner % classes) {
            value = kg::to_float(grad[kept ? row : 0]);
            value = mean ? value / kg::to_float(*total) : value;
            value = -(weight == nullptr ? value : value * kg::to_float(weight[label]));
        }
        out[i] = kg::from_float<T_out>(value);
    }
}
