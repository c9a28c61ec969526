// Baseline of convolution_backward: a thread per element of each gradient, its products summed in order
// in f32.
/*@plan
g = contiguous(grad_output)
x = contiguous(input)
w = contiguous(weight)
n = w.ndim - 2
ix = x.shape[-1]
iy = x.shape[-2] if n > 1 else 1
iz = x.shape[-3] if n > 2 else 1
kx = w.shape[-1]
ky = w.shape[-2] if n > 1 else 1
kz = w.shape[-3] if n > 2 else 1
ox = g.shape[-1]
oy = g.shape[-2] if n > 1 else 1
oz = g.shape[-3] if n > 2 else 1
sx = stride[-1]
sy = (stride[-2] if len(stride) > 1 else stride[0]) if n > 1 else 1
sz = (stride[-3] if len(stride) > 1 else stride[0]) if n > 2 else 1
px = padding[-1]
py = (padding[-2] if len(padding) > 1 else padding[0]) if n > 1 else 0
pz = (padding[-3] if len(padding) > 1 else padding[0]) if n > 2 else 0
dx = dilation[-1]
dy = (dilation[-2] if len(dilation) > 1 else dilation[0]) if n > 1 else 1
dz = (dilation[-3] if len(dilation) > 1 else dilation[0]) if n > 2 else 1
batch, ins, outs = x.shape[0], x.shape[1] // groups, g.shape[1] // groups
if out0.numel > 0:
    launch("of_input", grid=cdiv(out0.numel, 256), block=256,
           args=[g, w, out0, out0.numel, groups, ins, outs, transposed, iz, iy, ix, kz, ky, kx,
                 sz, sy, sx, pz, py, px, dz, dy, dx, oz, oy, ox])
if out1.numel > 0:
    launch("of_weight", grid=cdiv(out1.numel, 256), block=256,
           args=[g, x, out1, out1.numel, batch, groups, ins, outs, transposed, iz, iy, ix, kz, ky, kx,
                 sz, sy, sx, pz, py, px, dz, dy, dx, oz, oy, ox])
if out2.numel > 0:
    launch("of_bias", grid=cdiv(out2.numel, 256), block=256,
           args=[g, out2, out2.numel, batch, oz * oy * ox])
@*/

// The place of the output that a place of the input meets at one of the kernel, along one dimension;
// -1 where there is none.
__device__ int meets(bool transposed, int in, int kernel, int stride, int padding, int dilation, int out) {
    int at;
    if (transposed) {
        at = in * stride + kernel * dilation - padding;
    } else {
        const int reach = in + padding - kernel * dilation;
        if (reach % stride != 0) {
            return -1;
        }
        at = reach / stride;
    }
    return at >= 0 && at < out ? at : -1;
}

extern "C" __global__ void of_input(
    const T_grad_output* __restrict__ grad, const T_weight* __restrict__ weight,
    T_out0* __restrict__ out, long long count, int groups, int ins, int outs, bool transposed, int in_z,
    int in_y, int in_x, int kernel_z, int kernel_y, int kernel_x, int stride_z, int stride_y,
    int stride_x, int padding_z, int padding_y, int padding_x, int dilation_z, int dilation_y,
    int dilation_x, int out_z, int out_y, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % in_x, y = i / in_x % in_y, z = i / in_x / in_y % in_z;
    const long long plane = i / in_x / in_y / in_z;
    const int channel = plane % (groups * ins), group = channel / ins;
    const long long batch = plane / (groups * ins);
    float sum = 0.0f;
    for (int kz = 0; kz < kernel_z; ++kz) {
        const int oz = meets(transposed, z, kz, stride_z, padding_z, dilation_z, out_z);
        for (int ky = 0; ky < kernel_y; ++ky) {
            const int oy = meets(transposed, y, ky, stride_y, padding_y, dilation_y, out_y);
            for (int kx = 0; kx < kernel_x; ++kx) {
                const int ox = meets(transposed, x, kx, stride_x, padding_x, dilation_x, out_x);
                if (oz < 0 || oy < 0 || ox < 0) {
                    continue;
                }
                for (int o = 0; o < outs; ++o) {
                    const long long pair =
                        transposed ? static_cast<long long>(channel) * outs + o
                                   : static_cast<long long>(group * outs + o) * ins + channel % ins;
                    const long long tap = ((pair * kernel_z + kz) * kernel_y + ky) * kernel_x + kx;
                    const long long to = batch * groups * outs + group * outs + o;
                    sum += kg::to_float(grad[((to * out_z + oz) * out_y + oy) * out_x + ox]) *
                           kg::to_float(weight[tap]);
                }
            }
        }
    }
    out[i] = kg::from_float<T_out0>(sum);
}

extern "C" __global__ void of_weight(
    const T_grad_output* __restrict__ grad, const T_input* __restrict__ input, T_out1* __restrict__ out,
    long long count, long long batch, int groups, int ins, int outs, bool transposed, int in_z, int in_y,
    int in_x, int kernel_z, int kernel_y, int kernel_x, int stride_z, int stride_y, int stride_x,
    int padding_z, int padding_y, int padding_x, int dilation_z, int dilation_y, int dilation_x,
    int out_z, int out_y, int out_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int kx = i % kernel_x, ky = i / kernel_x % kernel_y, kz = i / kernel_x / kernel_y % kernel_z;
    const long long pair = i / kernel_x / kernel_y / kernel_z;
    const int first = pair / (transposed ? outs : ins), second = pair % (transposed ? outs : ins);
    const int group = first / (transposed ? ins : outs);
    const long long from = transposed ? first : group * ins + second;
    const long long to = transposed ? group * outs + second : first;
    float sum = 0.0f;
    for (long long n = 0; n < batch; ++n) {
        for (int z = 0; z < in_z; ++z) {
            const int oz = meets(transposed, z, kz, stride_z, padding_z, dilation_z, out_z);
            for (int y = 0; y < in_y; ++y) {
                const int oy = meets(transposed, y, ky, stride_y, padding_y, dilation_y, out_y);
                for (int x = 0; x < in_x; ++x) {
                    const int ox = meets(transposed, x, kx, stride_x, padding_x, dilation_x, out_x);
                    if (oz < 0 || oy < 0 || ox < 0) {
                        continue;
                    }
                    const long long in = ((n * groups * ins + from) * in_z + z) * in_y + y;
                    const long long at = ((n * groups * outs + to) * out_z + oz) * out_y + oy;
                    sum += kg::to_float(grad[at * out_x + ox]) * kg::to_float(input[in * in_x + x]);
                }
            }
        }
    }
    out[i] = kg::from_float<T_out1>(sum);
}

extern "C" __global__ void of_bias(const T_grad_output* __restrict__ grad, T_out2* __restrict__ out,
                                   long long channels, long long batch, long long places) {
    const long long channel = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (channel >= channels) {
        return;
    }
    float sum = 0.0f;
    for (long long n = 0; n < batch; ++n) {
        for (long long i = 0; i < places; ++i) {
            sum += kg::to_float(grad[(n * channels + channel) * places + i]);
        }
    }
    out[channel] = kg::from_float<T_out2>(sum);
}
