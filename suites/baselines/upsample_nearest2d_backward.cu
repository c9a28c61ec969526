// Baseline of upsample_nearest2d_backward: a thread per element adds the places that it was taken for. Places
// are computed as the forward op does, and the first is found by bisection.
/*@plan
g = contiguous(grad_output)
scale_y = scales_h if scales_h != None and scales_h > 0 else 0.0
scale_x = scales_w if scales_w != None and scales_w > 0 else 0.0
launch("taken", grid=cdiv(out.numel, 256), block=256,
       args=[g, out, out.numel, out.shape[2], out.shape[3], g.shape[2], g.shape[3], scale_y, scale_x])
@*/

// Input elements per output element; a scale of 0 means none was given. A given one is inverted
// before it is rounded, as PyTorch does.
__device__ float step(int extent, int count, double scale) {
    return scale > 0.0 ? static_cast<float>(1.0 / scale)
                       : static_cast<float>(extent) / static_cast<float>(count);
}

__device__ int nearest(int at, int extent, float step) {
    return static_cast<int>(fminf(floorf(at * step), static_cast<float>(extent - 1)));
}

// The first output place that takes an element from `place` on: places do not fall.
__device__ int first_of(int place, int extent, int count, float step) {
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (nearest(middle, extent, step) < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

extern "C" __global__ void taken(const T_grad_output* __restrict__ grad, T_out* __restrict__ out,
                                 long long n, int in_y, int in_x, int out_y, int out_x, double scale_y,
                                 double scale_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float step_y = step(in_y, out_y, scale_y), step_x = step(in_x, out_x, scale_x);
    const int y = i / in_x % in_y, x = i % in_x;
    const int left = first_of(x, in_x, out_x, step_x), right = first_of(x + 1, in_x, out_x, step_x);
    const int bottom = first_of(y + 1, in_y, out_y, step_y);
    const T_grad_output* plane = grad + i / in_x / in_y * out_y * out_x;
    float sum = 0.0f;
    for (int p = first_of(y, in_y, out_y, step_y); p < bottom; ++p) {
        for (int q = left; q < right; ++q) {
            sum += kg::to_float(plane[p * out_x + q]);
        }
    }
    out[i] = kg::from_float<T_out>(sum);
}
