// Baseline of _upsample_bicubic2d_aa: a thread per output element computes its weights.
/*@plan
x = contiguous(self)
scale_y = f32(scales_h) if scales_h != None and scales_h > 0 else f32(0)
scale_x = f32(scales_w) if scales_w != None and scales_w > 0 else f32(0)
launch("resized", grid=cdiv(out.numel, 128), block=128,
       args=[x, out, out.numel, x.shape[2], x.shape[3], out.shape[2], out.shape[3], align_corners,
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

extern "C" __global__ void resized(const T_self* __restrict__ self, T_out* __restrict__ out, long long n,
                                   int in_y, int in_x, int out_y, int out_x, bool corners,
                                   float scale_y, float scale_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    Window column(i % out_x, {in_x, out_x, corners, scale_x});
    Window row(i / out_x % out_y, {in_y, out_y, corners, scale_y});
    column.add();
    row.add();
    const T_self* plane = self + i / out_x / out_y * in_y * in_x;
    float sum = 0.0f;
    for (int y = row.first; y < row.last; ++y) {
        float line = 0.0f;
        for (int x = column.first; x < column.last; ++x) {
            line += column.weight(x) * kg::to_float(plane[y * in_x + x]);
        }
        sum += row.weight(y) * line;
    }
    out[i] = kg::from_float<T_out>(sum);
}
