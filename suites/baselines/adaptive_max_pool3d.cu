// Baseline of adaptive_max_pool3d: a thread per window.
/*@plan
x = contiguous(self)
in_z = x.shape[-3]
out_z = out0.shape[-3]
in_y = x.shape[-2]
out_y = out0.shape[-2]
in_x = x.shape[-1]
out_x = out0.shape[-1]
launch("adaptive_max_pool3d", grid=cdiv(out0.numel, 256), block=256,
       args=[x, out0, out1, out0.numel, in_z, in_y, in_x, out_z, out_y, out_x])
@*/

extern "C" __global__ void adaptive_max_pool3d(
    const T_self* __restrict__ self, T_out0* __restrict__ out, T_out1* __restrict__ indices,
    long long count, int in_z, int in_y, int in_x, int out_z, int out_y, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % out_x;
    const int y = i / out_x % out_y;
    const int z = i / out_x / out_y % out_z;
    const int first_z = static_cast<long long>(z) * in_z / out_z;
    const int end_z = (static_cast<long long>(z + 1) * in_z + out_z - 1) / out_z;
    const int first_y = static_cast<long long>(y) * in_y / out_y;
    const int end_y = (static_cast<long long>(y + 1) * in_y + out_y - 1) / out_y;
    const int first_x = static_cast<long long>(x) * in_x / out_x;
    const int end_x = (static_cast<long long>(x + 1) * in_x + out_x - 1) / out_x;
    const T_self* part = self + i / out_x / out_y / out_z * in_z * in_y * in_x;
    int place = (first_z * in_y + first_y) * in_x + first_x;
    for (int at_z = first_z; at_z < end_z; ++at_z) {
        for (int at_y = first_y; at_y < end_y; ++at_y) {
            for (int at_x = first_x; at_x < end_x; ++at_x) {
                const int at = (at_z * in_y + at_y) * in_x + at_x;
                const float value = kg::to_float(part[at]);
                // A NaN wins over everything before it, and nothing but NaN wins over it.
                if (value > kg::to_float(part[place]) || value != value) {
                    place = at;
                }
            }
        }
    }
    out[i] = part[place];
    indices[i] = place;
}
