// Convolutions of few channels per group. A thread has points of OUTS channels that lie below each other in ROWS
// rows, so that it reads what their windows share once; neighbouring threads have neighbouring columns.
// `sides` blocks share the channels of a group.
// A KERNEL of 0 is any; others are squares of neighbours.
template <int KERNEL, int STRIDE, int OUTS, int ROWS>
__global__ void __launch_bounds__(128, OUTS == 1 ? 5 : 4) rows_of_groups(
    const T_input* __restrict__ input, const T_weight* __restrict__ weight, const T_out* __restrict__ bias,
    T_out* __restrict__ out, int images, int groups, int depth, int per_group, int sides,
    int in_z, int in_y, int in_x, int kernel_z, int kernel_y, int kernel_x,
    int stride_z, int stride_y, int stride_x, int padding_z, int padding_y, int padding_x,
    int dilation_z, int dilation_y, int dilation_x, int out_z, int out_y, int out_x) {
    constexpr int EXTENT = KERNEL > 0 ? (ROWS - 1) * STRIDE + KERNEL : 1;  // of the rows that a thread reads
    extern __shared__ float4 shared[];
    float* weights = reinterpret_cast<float*>(shared);  // [depth * kernel_z][n_taps][OUTS]
    const int strips = (out_y + ROWS - 1) / ROWS;
    const int places = images * out_z * strips * out_x;
    const int blocks = (places + 127) / 128;
    const int block = blockIdx.x;
    const int side = block / blocks % sides;
    const int group = block / blocks / sides;
    const int channel0 = group * per_group + side * OUTS;
    const int outs = min(OUTS, per_group - side * OUTS);

    const int n_taps = KERNEL > 0 ? KERNEL * KERNEL : kernel_y * kernel_x;
    const int per_out = depth * kernel_z * n_taps;
    const T_weight* taps = weight + static_cast<long long>(channel0) * per_out;
    for (int i = threadIdx.x; i < per_out * OUTS; i += 128) {
        const int o = i / per_out;
        weights[i % per_out * OUTS + o] = o < outs ? kg::to_float(taps[i]) : 0.0f;
    }
    __syncthreads();

    const int place = block % blocks * 128 + threadIdx.x;
    if (place >= places) {
        return;
    }
    const int x = place % out_x;
    const int y = place / out_x % strips * ROWS;
    const int zn = place / out_x / strips;
    const int z = zn % out_z;
    const long long image = zn / out_z;
    const int first_x = x * stride_x - padding_x;
    const int first_y = y * stride_y - padding_y;
    const int first_z = z * stride_z - padding_z;

    int row_at[EXTENT];  // in a plane, or -1
#pragma unroll
    for (int in = 0; in < EXTENT; ++in) {
        const int at_y = first_y + in;
        row_at[in] = at_y >= 0 && at_y < in_y ? at_y * in_x : -1;
    }
    float sums[OUTS][ROWS] = {};
    const T_input* of_group = input + (image * groups + group) * depth * in_z * in_y * in_x;
    const float* w = weights;
    for (int from = 0; from < depth; ++from) {
        for (int tz = 0; tz < kernel_z; ++tz, w += n_taps * OUTS) {
            const int at_z = first_z + tz * dilation_z;
            if (at_z < 0 || at_z >= in_z) {
                continue;
            }
            const T_input* plane = of_group + (from * in_z + at_z) * in_y * in_x;
            if constexpr (KERNEL == 0) {
                for (int ty = 0; ty < kernel_y; ++ty) {
                    const int at_y = first_y + ty * dilation_y;
                    for (int tx = 0; tx < kernel_x; ++tx) {
                        const int at_x = first_x + tx * dilation_x;
                        const bool inside = at_y >= 0 && at_y < in_y && at_x >= 0 && at_x < in_x;
                        const float value = inside ? kg::to_float(plane[at_y * in_x + at_x]) : 0.0f;
#pragma unroll
                        for (int o = 0; o < OUTS; ++o) {
                            sums[o][0] = fmaf(value, w[(ty * kernel_x + tx) * OUTS + o], sums[o][0]);
                        }
                    }
                }
            } else {
                // Large filters take a column at a time, or values of the whole window would fill the registers.
#pragma unroll(KERNEL == 3 ? 3 : 1)
                for (int tx = 0; tx < KERNEL; ++tx) {
                    const bool inside_x = first_x + tx >= 0 && first_x + tx < in_x;
#pragma unroll
                    for (int in = 0; in < EXTENT; ++in) {
                        float value = 0.0f;
                        if (inside_x && row_at[in] >= 0) {
                            value = kg::to_float((plane + row_at[in] + first_x)[tx]);
                        }
#pragma unroll
                        for (int row = 0; row < ROWS; ++row) {
                            const int ty = in - row * STRIDE;  // the row of the filter that meets both
                            if (ty < 0 || ty >= KERNEL) {
                                continue;
                            }
#pragma unroll
                            for (int o = 0; o < OUTS; ++o) {
                                sums[o][row] = fmaf(value, w[(ty * KERNEL + tx) * OUTS + o], sums[o][row]);
                            }
                        }
                    }
                }
            }
        }
    }

    const long long points = static_cast<long long>(out_z) * out_y * out_x;
#pragma unroll
    for (int o = 0; o < OUTS; ++o) {
        if (o >= outs) {
            break;
        }
        const float offset = bias ? kg::to_float(bias[channel0 + o]) : 0.0f;
        T_out* to = out + (image * groups * per_group + channel0 + o) * points + (z * out_y + y) * out_x + x;
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            if (y + row < out_y) {
                to[row * out_x] = kg::from_acc<T_out>(sums[o][row] + offset);
            }
        }
    }
}
