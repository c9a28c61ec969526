// Baseline of upsample_linear1d: a thread per output element.
/*@plan
x = contiguous(self)
scale_x = scales if scales != None and scales > 0 else 0.0
launch("upsample_linear1d", grid=cdiv(out.numel, 128), block=128,
       args=[x, out, out.numel, x.shape[2], out.shape[2],
             scale_x, align_corners])
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

extern "C" __global__ void upsample_linear1d(
    const T_self* __restrict__ self, T_out* __restrict__ out, long long count, int in_x, int out_x, double scale_x,
    bool corners) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const Taps x = taps(i % out_x, in_x, out_x, scale_x, corners);
    const T_self* plane = self + i / out_x * in_x;
    float sum = 0.0f;
    for (int x_tap = 0; x_tap < 2; ++x_tap) {
        sum += x.weight[x_tap] * kg::to_float(plane[x.at[x_tap]]);
    }
    out[i] = kg::from_float<T_out>(sum);
}
