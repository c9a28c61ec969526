// Baseline of max_pool3d_with_indices: a thread per window, which it walks in row-major order.
/*@plan
x = contiguous(self)
hop = stride if len(stride) > 0 else kernel_size
ix = x.shape[-1]
iy = x.shape[-2]
iz = x.shape[-3]
ox = out0.shape[-1]
oy = out0.shape[-2]
oz = out0.shape[-3]
kx = kernel_size[-1]
ky = kernel_size[-2] if len(kernel_size) > 1 else kernel_size[0]
kz = kernel_size[-3] if len(kernel_size) > 1 else kernel_size[0]
sx = hop[-1]
sy = hop[-2] if len(hop) > 1 else hop[0]
sz = hop[-3] if len(hop) > 1 else hop[0]
px = padding[-1]
py = padding[-2] if len(padding) > 1 else padding[0]
pz = padding[-3] if len(padding) > 1 else padding[0]
dx = dilation[-1]
dy = dilation[-2] if len(dilation) > 1 else dilation[0]
dz = dilation[-3] if len(dilation) > 1 else dilation[0]
launch("max_pool3d_with_indices", grid=cdiv(out0.numel, 256), block=256,
       args=[x, out0, out1, out0.numel, iz, iy, ix, oz, oy, ox, kz, ky, kx, sz, sy, sx, pz, py, px,
             dz, dy, dx])
@*/

// The first position of a window inside the input.
__device__ int begin(int at, int stride, int padding, int dilation) {
    int first = at * stride - padding;
    while (first < 0) {
        first += dilation;
    }
    return first;
}

extern "C" __global__ void max_pool3d_with_indices(
    const T_self* __restrict__ self, T_out0* __restrict__ out, T_out1* __restrict__ indices,
    long long count, int in_z, int in_y, int in_x, int out_z, int out_y, int out_x, int kernel_z,
    int kernel_y, int kernel_x, int stride_z, int stride_y, int stride_x, int padding_z,
    int padding_y, int padding_x, int dilation_z, int dilation_y, int dilation_x) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % out_x;
    const int y = i / out_x % out_y;
    const int z = i / out_x / out_y % out_z;
    const T_self* plane = self + i / out_x / out_y / out_z * in_z * in_y * in_x;
    const int end_z = min(z * stride_z - padding_z + (kernel_z - 1) * dilation_z + 1, in_z);
    const int end_y = min(y * stride_y - padding_y + (kernel_y - 1) * dilation_y + 1, in_y);
    const int end_x = min(x * stride_x - padding_x + (kernel_x - 1) * dilation_x + 1, in_x);
    const int first_z = begin(z, stride_z, padding_z, dilation_z);
    const int first_y = begin(y, stride_y, padding_y, dilation_y);
    const int first_x = begin(x, stride_x, padding_x, dilation_x);
    T_self best = kg::from_float<T_self>(-INFINITY);
    int place = -1;
    for (int at_z = first_z; at_z < end_z; at_z += dilation_z) {
        for (int at_y = first_y; at_y < end_y; at_y += dilation_y) {
            for (int at_x = first_x; at_x < end_x; at_x += dilation_x) {
                const int at = (at_z * in_y + at_y) * in_x + at_x;
                const float value = kg::to_float(plane[at]);
                // A NaN wins over everything before it, and nothing but NaN wins over it.
                if (place < 0 || value > kg::to_float(best) || value != value) {
                    best = plane[at];
                    place = at;
                }
            }
        }
    }
    out[i] = best;
    indices[i] = place;
}
