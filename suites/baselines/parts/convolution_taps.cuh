// The taps that reach an output, along one dimension: those from the first one on, each `step` from the one before.
struct Reaching {
    int far, stride, dilation, in;

    __device__ int step() const {
        return dilation == 1 ? stride : 1;
    }

    __device__ int first() const {
        return dilation == 1 ? far % stride : 0;
    }

    // The place in the input, or -1.
    __device__ int at(int tap) const {
        const int distance = far - tap * dilation;
        const bool met = distance >= 0 && distance % stride == 0 && distance / stride < in;
        return met ? distance / stride : -1;
    }
};

// A thread per output adds the products that reach it, of [images, channels, taps, points].
extern "C" __global__ void __launch_bounds__(128) sum_of_taps(
    const float* __restrict__ products, const T_out* __restrict__ bias, T_out* __restrict__ out, int count,
    int channels, int in_z, int in_y, int in_x, int kernel_z, int kernel_y, int kernel_x,
    int stride_z, int stride_y, int stride_x, int padding_z, int padding_y, int padding_x,
    int dilation_z, int dilation_y, int dilation_x, int out_z, int out_y, int out_x) {
    const int to = blockIdx.x * 128 + threadIdx.x;
    if (to >= count) {
        return;
    }
    const int column = to % out_x;
    const int line = to / out_x % out_y;
    const int slice = to / out_x / out_y % out_z;
    const int plane = to / out_x / out_y / out_z;
    // The output position is at * stride + tap * dilation - padding.
    const Reaching along_x{column + padding_x, stride_x, dilation_x, in_x};
    const Reaching along_y{line + padding_y, stride_y, dilation_y, in_y};
    const Reaching along_z{slice + padding_z, stride_z, dilation_z, in_z};
    const long long points = static_cast<long long>(in_z) * in_y * in_x;
    const float* of_plane = products + static_cast<long long>(plane) * kernel_z * kernel_y * kernel_x * points;
    float whole = bias ? kg::to_float(bias[plane % channels]) : 0.0f;
    for (int tz = along_z.first(); tz < kernel_z; tz += along_z.step()) {
        const int z = along_z.at(tz);
        for (int ty = along_y.first(); ty < kernel_y && z >= 0; ty += along_y.step()) {
            const int y = along_y.at(ty);
            for (int tx = along_x.first(); tx < kernel_x && y >= 0; tx += along_x.step()) {
                const int x = along_x.at(tx);
                if (x >= 0) {
                    const long long tap = (tz * kernel_y + ty) * kernel_x + tx;
                    whole += of_plane[tap * points + (z * in_y + y) * in_x + x];
                }
            }
        }
    }
    out[to] = kg::from_acc<T_out>(whole);
}
