// Baseline of adaptive_max_pool1d: a thread per window.
/*@plan
x = contiguous(self)
in_x = x.shape[-1]
out_x = out0.shape[-1]
launch("adaptive_max_pool1d", grid=cdiv(out0.numel, 256), block=256,
       args=[x, out0, out1, out0.numel, in_x, out_x])
@*/

extern "C" __global__ void adaptive_max_pool1d(
    const T_self* __restrict__ self, T_out0* __restrict__ out, T_out1* __restrict__ indices,
    long long count, int in_x, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % out_x;
    const int first_x = static_cast<long long>(x) * in_x / out_x;
    const int end_x = (static_cast<long long>(x + 1) * in_x + out_x - 1) / out_x;
    const T_self* part = self + i / out_x * in_x;
    int place = first_x;
    for (int at_x = first_x; at_x < end_x; ++at_x) {
        const int at = at_x;
        const float value = kg::to_float(part[at]);
        // A NaN wins over everything before it, and nothing but NaN wins over it.
        if (value > kg::to_float(part[place]) || value != value) {
            place = at;
        }
    }
    out[i] = part[place];
    indices[i] = place;
}
