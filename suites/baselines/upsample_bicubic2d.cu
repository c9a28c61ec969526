// Baseline of upsample_bicubic2d: a thread per output element.
/*@plan
x = contiguous(self)
scale_y = scales_h if scales_h != None and scales_h > 0 else 0.0
scale_x = scales_w if scales_w != None and scales_w > 0 else 0.0
launch("upsample_bicubic2d", grid=cdiv(out.numel, 128), block=128,
       args=[x, out, out.numel, x.shape[2], x.shape[3], out.shape[2], out.shape[3],
             scale_y, scale_x, align_corners])
@*/

struct Taps {
    int at[4];
    float weight[4];
};

// The neighbours of an output index and their weights. A scale of 0 means none was given.
__device__ Taps taps(int index, int extent, int count, double scale, bool corners) {
    const float step = corners ? (count > 1 ? static_cast<float>(extent - 1) / (count - 1) : 0.0f)
                       : scale > 0.0 ? static_cast<float>(1.0 / scale)
                                     : static_cast<float>(extent) / count;
    float place = corners ? index * step : step * (index + 0.5f) - 0.5f;
    const float low = floorf(place);
    const float t = place - low;
    const float a = -0.75f;
    const float near[2] = {t, 1.0f - t};
    Taps found;
    for (int k = 0; k < 2; ++k) {
        const float x = near[k];
        const float y = x + 1.0f;
        found.weight[k == 0 ? 1 : 2] = ((a + 2.0f) * x - (a + 3.0f)) * x * x + 1.0f;
        found.weight[k == 0 ? 0 : 3] = ((a * y - 5.0f * a) * y + 8.0f * a) * y - 4.0f * a;
    }
    for (int k = 0; k < 4; ++k) {
        found.at[k] = min(max(static_cast<int>(low) + k - 1, 0), extent - 1);
    }
    return found;
}

extern "C" __global__ void upsample_bicubic2d(
    const T_self* __restrict__ self, T_out* __restrict__ out, long long count, int in_y, int in_x, int out_y, int out_x, double scale_y, double scale_x,
    bool corners) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const Taps x = taps(i % out_x, in_x, out_x, scale_x, corners);
    const Taps y = taps(i / out_x % out_y, in_y, out_y, scale_y, corners);
    const T_self* plane = self + i / out_x / out_y * in_y * in_x;
    float sum = 0.0f;
    for (int y_tap = 0; y_tap < 4; ++y_tap) {
        for (int x_tap = 0; x_tap < 4; ++x_tap) {
            sum += y.weight[y_tap] * x.weight[x_tap] * kg::to_float(plane[y.at[y_tap] * in_x + x.at[x_tap]]);
        }
    }
    out[i] = kg::from_float<T_out>(sum);
}
