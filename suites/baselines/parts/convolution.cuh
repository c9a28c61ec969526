#if KIND == 1
#include "convolution_tma.cuh"
#else
#include "convolution_implicit.cuh"
#include "convolution_rows.cuh"

// One number per spatial dimension; a dimension that the op lacks has extent 1.
struct Triple {
    int z, y, x;
};

// A thread per output element, its products summed in order in f32.
extern "C" __global__ void direct(
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
    // Where the window begins in the input.
    const int first_z = z * stride.z - padding.z;
    const int first_y = y * stride.y - padding.y;
    const int first_x = x * stride.x - padding.x;
    const int first_channel = channel / per_group * depth;
    const long long n_taps = static_cast<long long>(kernel.z) * kernel.y * kernel.x;
    const T_weight* taps = weight + channel * depth * n_taps;
    float sum = 0.0f;
    for (int c = 0; c < depth; ++c) {
        const long long from = batch * depth * groups + first_channel + c;
        const T_input* plane = input + from * in.z * in.y * in.x;
        for (int tz = 0; tz < kernel.z; ++tz) {
            for (int ty = 0; ty < kernel.y; ++ty) {
                for (int tx = 0; tx < kernel.x; ++tx, ++taps) {
                    const int at_z = first_z + tz * dilation.z;
                    const int at_y = first_y + ty * dilation.y;
                    const int at_x = first_x + tx * dilation.x;
                    const bool inside = at_z >= 0 && at_z < in.z && at_y >= 0 && at_y < in.y &&
                                        at_x >= 0 && at_x < in.x;
                    if (inside) {
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
