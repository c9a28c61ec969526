// Baseline of _upsample_bicubic2d_aa_backward: a thread per element adds what the windows that hold it give it.
// Neither end of the windows falls, so that the first and the last one are found by bisection.
/*@plan
g = contiguous(grad_output)
scale_y = f32(scales_h) if scales_h != None and scales_h > 0 else f32(0)
scale_x = f32(scales_w) if scales_w != None and scales_w > 0 else f32(0)
launch("given", grid=cdiv(out.numel, 128), block=128,
       args=[g, out, out.numel, out.shape[2], out.shape[3], g.shape[2], g.shape[3], align_corners,
             scale_y, scale_x])
@*/

// The window of an output index along one dimension; a scale of 0 means none was given.
struct Axis {
    int extent, count;
    bool corners;
    float scale;
    __device__ float step() const {
        if (corners) {
            return count > 1 ? static_cast<float>(extent - 1) / static_cast<float>(count - 1) : 0.0f;
        }
        return scale > 0.0f ? 1.0f / scale : static_cast<float>(extent) / static_cast<float>(count);
    }
};

struct Window {
    int first, last;
    float centre, width, total;
    __device__ Window(int index, const Axis& axis) : total(0.0f) {
        const float step = axis.step();
        width = fmaxf(step, 1.0f);
        centre = step * (index + 0.5f);
        first = static_cast<int>(fmaxf(centre - 2.0f * width + 0.5f, 0.0f));
        last = static_cast<int>(fminf(centre + 2.0f * width + 0.5f, static_cast<float>(axis.extent)));
    }
    // Cubic convolution with a = -0.5.
    __device__ float raw(int at) const {
        const float a = -0.5f, x = fabsf((at - centre + 0.5f) / width);
        return x < 1.0f   ? ((a + 2.0f) * x - (a + 3.0f)) * x * x + 1.0f
               : x < 2.0f ? ((a * x - 5.0f * a) * x + 8.0f * a) * x - 4.0f * a
                          : 0.0f;
    }
    __device__ void add() {
        for (int at = first; at < last; ++at) {
            total += raw(at);
        }
        total = total == 0.0f ? 1.0f : total;
    }
    __device__ float weight(int at) const { return raw(at) / total; }
};

// The first window that ends behind a place, or that begins behind it.
__device__ int first_behind(int place, const Axis& axis, bool begins) {
    int from = 0, to = axis.count;
    while (from < to) {
        const int middle = (from + to) / 2;
        const Window window(middle, axis);
        if ((begins ? window.first : window.last) <= place) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

extern "C" __global__ void given(const T_grad_output* __restrict__ grad, T_out* __restrict__ out, long long n,
                                 int in_y, int in_x, int out_y, int out_x, bool corners,
                                 float scale_y, float scale_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const Axis rows = {in_y, out_y, corners, scale_y}, columns = {in_x, out_x, corners, scale_x};
    const int y = i / in_x % in_y, x = i % in_x;
    const int left = first_behind(x, columns, false), right = first_behind(x, columns, true);
    const int bottom = first_behind(y, rows, true);
    const T_grad_output* plane = grad + i / in_x / in_y * out_y * out_x;
    float sum = 0.0f;
    for (int p = first_behind(y, rows, false); p < bottom; ++p) {
        Window row(p, rows);
        row.add();
        float line = 0.0f;
        for (int q = left; q < right; ++q) {
            Window column(q, columns);
            column.add();
            line += column.weight(x) * kg::to_float(plane[p * out_x + q]);
        }
        sum += row.weight(y) * line;
    }
    out[i] = kg::from_float<T_out>(sum);
}
