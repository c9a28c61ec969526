// Baseline of upsample_bilinear2d: a thread per output element.
/*@plan
x = contiguous(self)
scale_y = f32(scales_h) if scales_h != None and scales_h > 0 else f32(0)
scale_x = f32(scales_w) if scales_w != None and scales_w > 0 else f32(0)
launch("upsample_bilinear2d", grid=cdiv(out.numel, 256), block=256,
       args=[x, out, out.numel, x.shape[2], x.shape[3], out.shape[2], out.shape[3], align_corners,
             scale_y, scale_x])
@*/

// Input elements per output element; a scale of 0 means none was given.
__device__ float step(int extent, int count, float scale) {
    return scale > 0.0f ? 1.0f / scale : static_cast<float>(extent) / static_cast<float>(count);
}

// Two neighbours along one dimension, and the weight of the second.
struct Tap {
    int low, high;
    float weight;
};

__device__ Tap tap(int at, int extent, int count, bool corners, float scale) {
    float place;
    if (corners) {
        place = count > 1 ? at * (static_cast<float>(extent - 1) / (count - 1)) : 0.0f;
    } else {
        place = fmaxf(step(extent, count, scale) * (at + 0.5f) - 0.5f, 0.0f);
    }
    const int low = min(static_cast<int>(place), extent - 1);
    return {low, min(low + 1, extent - 1), fminf(place - low, 1.0f)};
}

extern "C" __global__ void upsample_bilinear2d(const T_self* __restrict__ self,
                                               T_out* __restrict__ out, long long count, int in_y,
                                               int in_x, int out_y, int out_x, bool corners,
                                               float scale_y, float scale_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const T_self* plane = self + i / out_x / out_y * in_y * in_x;
    const Tap x = tap(i % out_x, in_x, out_x, corners, scale_x);
    const Tap y = tap(i / out_x % out_y, in_y, out_y, corners, scale_y);
    const T_self* low = plane + y.low * in_x;
    const T_self* high = plane + y.high * in_x;
    const float above =
        (1.0f - x.weight) * kg::to_float(low[x.low]) + x.weight * kg::to_float(low[x.high]);
    const float below =
        (1.0f - x.weight) * kg::to_float(high[x.low]) + x.weight * kg::to_float(high[x.high]);
    out[i] = kg::from_float<T_out>((1.0f - y.weight) * above + y.weight * below);
}
