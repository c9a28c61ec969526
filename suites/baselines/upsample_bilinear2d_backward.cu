// Baseline of upsample_bilinear2d_backward: a thread per element adds what the places of grad_output give it.
// Their taps do not fall, so that the first and the last place are found by bisection.
/*@plan
g = contiguous(grad_output)
scale_y = f32(scales_h) if scales_h != None and scales_h > 0 else f32(0)
scale_x = f32(scales_w) if scales_w != None and scales_w > 0 else f32(0)
launch("interpolated", grid=cdiv(out.numel, 256), block=256,
       args=[g, out, out.numel, out.shape[2], out.shape[3], g.shape[2], g.shape[3], align_corners,
             scale_y, scale_x])
@*/

// A dimension of the resizing; a scale of 0 means none was given.
struct Axis {
    int extent, count;
    bool corners;
    float scale;
};

// Two neighbours along one dimension, and the weight of the second.
struct Tap {
    int low, high;
    float weight;
};

__device__ Tap tap(int at, Axis axis) {
    float place;
    if (axis.corners) {
        place = axis.count > 1 ? at * (static_cast<float>(axis.extent - 1) / (axis.count - 1)) : 0.0f;
    } else {
        const float step = axis.scale > 0.0f
                               ? 1.0f / axis.scale
                               : static_cast<float>(axis.extent) / static_cast<float>(axis.count);
        place = fmaxf(step * (at + 0.5f) - 0.5f, 0.0f);
    }
    const int low = static_cast<int>(fminf(place, static_cast<float>(axis.extent - 1)));
    return {low, min(low + 1, axis.extent - 1), fminf(place - low, 1.0f)};
}

// The first place whose lower neighbour is at `low` or behind it.
__device__ int first_of(int low, Axis axis) {
    int from = 0, to = axis.count;
    while (from < to) {
        const int middle = (from + to) / 2;
        if (tap(middle, axis).low < low) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

__device__ float share(float gradient, float weight, bool counts) {
    return counts ? gradient * weight : 0.0f;
}

extern "C" __global__ void interpolated(const T_grad_output* __restrict__ grad, T_out* __restrict__ out,
                                        long long n, int in_y, int in_x, int out_y, int out_x,
                                        bool corners, float scale_y, float scale_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const Axis rows = {in_y, out_y, corners, scale_y}, columns = {in_x, out_x, corners, scale_x};
    const int y = i / in_x % in_y, x = i % in_x;
    const int left = first_of(x - 1, columns), right = first_of(x + 1, columns);
    const int bottom = first_of(y + 1, rows);
    const T_grad_output* plane = grad + i / in_x / in_y * out_y * out_x;
    float sum = 0.0f;
    for (int p = first_of(y - 1, rows); p < bottom; ++p) {
        const Tap row = tap(p, rows);
        float line = 0.0f;
        for (int q = left; q < right; ++q) {
            const Tap column = tap(q, columns);
            const float gradient = kg::to_float(plane[p * out_x + q]);
            line += share(gradient, 1.0f - column.weight, column.low == x);
            line += share(gradient, column.weight, column.high == x);
        }
        sum += share(line, 1.0f - row.weight, row.low == y) + share(line, row.weight, row.high == y);
    }
    out[i] = kg::from_float<T_out>(sum);
}
