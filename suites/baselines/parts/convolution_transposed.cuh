#include "channels_last.cuh"
#include "convolution_implicit.cuh"

// One number per spatial dimension; a dimension that the op lacks has extent 1.
struct Triple {
    int z, y, x;
};

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

extern "C" __global__ void transposed(
    const T_input* __restrict__ input, const T_weight* __restrict__ weight,
    const T_out* __restrict__ bias, T_out* __restrict__ out, long long count, int groups, int depth,
    int per_group, int in_z, int in_y, int in_x, int kernel_z, int kernel_y, int kernel_x,
    int stride_z, int stride_y, int stride_x, int padding_z, int padding_y, int padding_x,
    int dilation_z, int dilation_y, int dilation_x, int out_z, int out_y, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const Triple in{in_z, in_y, in_x}, kernel{kernel_z, kernel_y, kernel_x};
    const Triple stride{stride_z, stride_y, stride_x}, padding{padding_z, padding_y, padding_x};
    const Triple dilation{dilation_z, dilation_y, dilation_x};
    const int x = i % out_x;
    const int y = i / out_x % out_y;
    const int z = i / out_x / out_y % out_z;
    const long long plane_out = i / out_x / out_y / out_z;
    const int channel = plane_out % (groups * per_group);
    const long long batch = plane_out / (groups * per_group);
    const int group = channel / per_group;
    float sum = 0.0f;
    for (int c = 0; c < depth; ++c) {
        const long long from = group * depth + c;
        const T_input* plane = input + (batch * depth * groups + from) * in.z * in.y * in.x;
        const T_weight* taps =
            weight + (from * per_group + channel % per_group) * kernel.z * kernel.y * kernel.x;
        for (int tz = 0; tz < kernel.z; ++tz) {
            for (int ty = 0; ty < kernel.y; ++ty) {
                for (int tx = 0; tx < kernel.x; ++tx, ++taps) {
                    // The output position is at * stride + tap * dilation - padding.
                    const int far_z = z + padding.z - tz * dilation.z;
                    const int far_y = y + padding.y - ty * dilation.y;
                    const int far_x = x + padding.x - tx * dilation.x;
                    const bool met = far_z >= 0 && far_z % stride.z == 0 && far_y >= 0 &&
                                     far_y % stride.y == 0 && far_x >= 0 && far_x % stride.x == 0;
                    const int at_z = far_z / stride.z;
                    const int at_y = far_y / stride.y;
                    const int at_x = far_x / stride.x;
                    if (met && at_z < in.z && at_y < in.y && at_x < in.x) {
                        const T_input value = plane[(at_z * in.y + at_y) * in.x + at_x];
                        sum = fmaf(kg::to_float(value), kg::to_float(*taps), sum);
                    }
                }
            }
        }
    }
    out[i] = kg::from_float<T_out>(bias ? sum + kg::to_float(bias[channel]) : sum);
}
