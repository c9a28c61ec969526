// Baseline of linear: a thread per element, its products summed in order in f32.
/*@plan
x = contiguous(input)
w = contiguous(weight)
b = expand(bias, out.shape) if has(bias) else None
k = x.shape[-1]
n = w.shape[0] if w.ndim == 2 else 1
launch("linear", grid=cdiv(out.numel, 256), block=256, args=[x, w, b, out, out.numel, n, k])
@*/

extern "C" __global__ void linear(const T_input* __restrict__ x, const T_weight* __restrict__ w,
                                  const T_out* __restrict__ b, T_out* __restrict__ out,
                                  long long count, int n, int k) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const T_input* row = x + i / n * k;
    const T_weight* column = w + i % n * k;
    float sum = 0.0f;
    for (int l = 0; l < k; ++l) {
        sum = fmaf(kg::to_float(row[l]), kg::to_float(column[l]), sum);
    }
    if (b) {
        sum += kg::to_float(b[i]);
    }
    out[i] = kg::from_float<T_out>(sum);
}
