// Baseline of avg_pool2d: a thread per window.
/*@plan
x = contiguous(self)
hop = stride if len(stride) > 0 else kernel_size
ix = x.shape[-1]
iy = x.shape[-2]
iz = 1
ox = out.shape[-1]
oy = out.shape[-2]
oz = 1
kx = kernel_size[-1]
ky = kernel_size[-2] if len(kernel_size) > 1 else kernel_size[0]
kz = 1
sx = hop[-1]
sy = hop[-2] if len(hop) > 1 else hop[0]
sz = 1
px = padding[-1]
py = padding[-2] if len(padding) > 1 else padding[0]
pz = 0
divisor = 0 if divisor_override == None else divisor_override
launch("avg_pool2d", grid=cdiv(out.numel, 256), block=256,
       args=[x, out, out.numel, iz, iy, ix, oz, oy, ox, kz, ky, kx, sz, sy, sx, pz, py, px,
             count_include_pad, divisor])
@*/

// The elements of a window along one dimension.
struct Span {
    int first, end, padded;
};

__device__ Span span(int at, int extent, int kernel, int stride, int padding) {
    const int first = at * stride - padding;
    const int end = min(first + kernel, extent + padding);
    return {max(first, 0), min(end, extent), end - first};
}

extern "C" __global__ void avg_pool2d(
    const T_self* __restrict__ self, T_out* __restrict__ out, long long count, int in_z, int in_y,
    int in_x, int out_z, int out_y, int out_x, int kernel_z, int kernel_y, int kernel_x,
    int stride_z, int stride_y, int stride_x, int padding_z, int padding_y, int padding_x,
    bool count_padding, int divisor) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const int x = i % out_x;
    const int y = i / out_x % out_y;
    const int z = i / out_x / out_y % out_z;
    const T_self* plane = self + i / out_x / out_y / out_z * in_z * in_y * in_x;
    const Span sz = span(z, in_z, kernel_z, stride_z, padding_z);
    const Span sy = span(y, in_y, kernel_y, stride_y, padding_y);
    const Span sx = span(x, in_x, kernel_x, stride_x, padding_x);
    float sum = 0.0f;
    for (int at_z = sz.first; at_z < sz.end; ++at_z) {
        for (int at_y = sy.first; at_y < sy.end; ++at_y) {
            for (int at_x = sx.first; at_x < sx.end; ++at_x) {
                sum += kg::to_float(plane[(at_z * in_y + at_y) * in_x + at_x]);
            }
        }
    }
    int by = divisor;
    if (divisor == 0) {
        by = count_padding ? sz.padded * sy.padded * sx.padded
                           : (sz.end - sz.first) * (sy.end - sy.first) * (sx.end - sx.first);
    }
    out[i] = kg::from_float<T_out>(sum / by);
}
