// Baseline of adaptive_avg_pool3d: a thread per window.
/*@plan
x = contiguous(self)
in_x = x.shape[-1]
in_y = x.shape[-2]
in_z = x.shape[-3]
out_x = out.shape[-1]
out_y = out.shape[-2]
out_z = out.shape[-3]
launch("adaptive_avg_pool3d", grid=cdiv(out.numel, 256), block=256, 
       args=[x, out, out.numel, in_z, in_y, in_x, out_z, out_y, out_x])
@*/

extern "C" __global__ void adaptive_avg_pool3d(
    const T_self* __restrict__ self, T_out* __restrict__ out,
    long long count, int in_z, int in_y, int in_x, int out_z, int out_y, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % out_x;
    const int y = i / out_x % out_y;
    const int z = i / out_x / out_y % out_z;
    const T_self* volume = self + i / out_x / out_y / out_z * in_z * in_y * in_x;
    const int first_x = static_cast<long long>(x) * in_x / out_x;
    const int first_y = static_cast<long long>(y) * in_y / out_y;
    const int first_z = static_cast<long long>(z) * in_z / out_z;
    const int end_z = (static_cast<long long>(z + 1) * in_z + out_z - 1) / out_z;
    const int end_x = (static_cast<long long>(x + 1) * in_x + out_x - 1) / out_x;
    const int end_y = (static_cast<long long>(y + 1) * in_y + out_y - 1) / out_y;
    float sum = 0.0f;
    for (int at_z = first_z; at_z < end_z; ++at_z) {
        for (int at_y = first_y; at_y < end_y; ++at_y) {
            for (int at_x = first_x; at_x < end_x; ++at_x) {
                sum += kg::to_float(volume[(at_z * in_y + at_y) * in_x + at_x]);
            }
        }
    }
    const int count_of = (end_z - first_z) * (end_y - first_y) * (end_x - first_x);
    out[i] = kg::from_float<T_out>(sum / count_of);
}
