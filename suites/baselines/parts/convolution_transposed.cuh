#include "channels_last.cuh"
#include "convolution_taps.cuh"
#if KIND == 3
#include "convolution_taps_tma.cuh"
#else
#include "convolution_implicit.cuh"

// One number per spatial dimension; a dimension that the op lacks has extent 1.
struct Triple {
    int z, y, x;
};

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
#endif
