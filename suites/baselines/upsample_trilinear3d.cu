// Baseline of upsample_trilinear3d: a thread per output element.
/*@plan
x = contiguous(self)
scale_z = scales_d if scales_d != None and scales_d > 0 else 0.0
scale_y = scales_h if scales_h != None and scales_h > 0 else 0.0
scale_x = scales_w if scales_w != None and scales_w > 0 else 0.0
launch("upsample_trilinear3d", grid=cdiv(out.numel, 128), block=128,
       args=[x, out, out.numel, x.shape[2], x.shape[3], x.shape[4], out.shape[2], out.shape[3], out.shape[4],
             scale_z, scale_y, scale_x, align_corners])
@*/

struct Taps {
    int at[2];
    float weight[2];
};

// The neighbours of an output index and their weights. A scale of 0 means none was given.
__device__ Taps taps(int index, int extent, int count, double scale, bool corners) {
    const float step = corners ? (count > 1 ? static_cast<float>(extent - 1) / (count - 1) : 0.0f)
                       : scale > 0.0 ? static_cast<float>(1.0 / scale)
                                     : static_cast<float>(extent) / count;
    float place = corners ? index * step : step * (index + 0.5f) - 0.5f;
    place = corners ? place : fmaxf(place, 0.0f);
    const int low = min(static_cast<int>(place), extent - 1);
    Taps found;
    found.at[0] = low;
    found.at[1] = min(low + 1, extent - 1);
    found.weight[1] = fminf(place - low, 1.0f);
    found.weight[0] = 1.0f - found.weight[1];
    return found;
}

extern "C" __global__ void upsample_trilinear3d(
    const T_self* __restrict__ self, T_out* __restrict__ out, long long count, int in_z, int in_y, int in_x, int out_z, int out_y, int out_x, double scale_z, double scale_y, double scale_x,
    bool corners) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const Taps x = taps(i % out_x, in_x, out_x, scale_x, corners);
    const Taps y = taps(i / out_x % out_y, in_y, out_y, scale_y, corners);
    const Taps z = taps(i / out_x / out_y % out_z, in_z, out_z, scale_z, corners);
    const T_self* plane = self + i / out_x / out_y / out_z * in_z * in_y * in_x;
    float sum = 0.0f;
    for (int z_tap = 0; z_tap < 2; ++z_tap) {
        for (int y_tap = 0; y_tap < 2; ++y_tap) {
            for (int x_tap = 0; x_tap < 2; ++x_tap) {
                sum += z.weight[z_tap] * y.weight[y_tap] * x.weight[x_tap] * kg::to_float(plane[(z.at[z_tap] * in_y + y.at[y_tap]) * in_x + x.at[x_tap]]);
            }
        }
    }
    out[i] = kg::from_float<T_out>(sum);
}
