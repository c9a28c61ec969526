// Baseline of reflection_pad2d_backward: a thread per element adds the padded places that mirror it.
/*@plan
g = contiguous(grad_output)
launch("mirrored", grid=cdiv(out.numel, 256), block=256,
       args=[g, out, out.numel, out.shape[-2], out.shape[-1], g.shape[-2], g.shape[-1], padding[2],
             padding[0]])
@*/

// The place itself and its mirror images at the first and the last element; those outside of the padded
// dimension and those that coincide are -1.
struct Images {
    int at[3];
};

__device__ Images images(int place, int extent, int padded, int before) {
    const int mirrored[3] = {place, -place, 2 * (extent - 1) - place};
    Images images;
    for (int k = 0; k < 3; ++k) {
        const int at = mirrored[k] + before;
        const bool outside = at < 0 || at >= padded;
        images.at[k] = outside || (k > 0 && mirrored[k] == place) ? -1 : at;
    }
    return images;
}

extern "C" __global__ void mirrored(const T_grad_output* __restrict__ grad, T_out* __restrict__ out,
                                    long long n, int in_y, int in_x, int out_y, int out_x, int top,
                                    int left) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const Images rows = images(i / in_x % in_y, in_y, out_y, top);
    const Images columns = images(i % in_x, in_x, out_x, left);
    const T_grad_output* plane = grad + i / in_x / in_y * out_y * out_x;
    float sum = 0.0f;
    for (int p = 0; p < 3; ++p) {
        for (int q = 0; q < 3; ++q) {
            if (rows.at[p] >= 0 && columns.at[q] >= 0) {
                sum += kg::to_float(plane[rows.at[p] * out_x + columns.at[q]]);
            }
        }
    }
    out[i] = kg::from_float<T_out>(sum);
}
