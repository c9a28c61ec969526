// Baseline of diagonal_backward: one thread per output element, on the diagonal or not. Up to four dimensions.
/*@plan
x = contiguous(grad_output)
require(out.ndim <= 4)
n = out.numel
row = (dim1 if dim1 >= 0 else dim1 + out.ndim) + 4 - out.ndim
column = (dim2 if dim2 >= 0 else dim2 + out.ndim) + 4 - out.ndim
down = -offset if offset < 0 else 0
right = offset if offset > 0 else 0
launch("diagonals", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
       args=[x, out, n, out.shape[-1], out.shape[-2], out.shape[-3] if out.ndim > 2 else 1,
             x.shape[-1], row, column, down, right])
@*/

extern "C" __global__ void __launch_bounds__(256)
diagonals(const T_grad_output* __restrict__ x, T_out* __restrict__ out, long long n, long long d3, long long d2,
          long long d1, long long length, int row, int column, long long down, long long right) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long at[4] = {i / d3 / d2 / d1, i / d3 / d2 % d1, i / d3 % d2, i % d3};
        const long long extents[4] = {1, d1, d2, d3};
        long long vector = 0;
        long long down_to = 0;
        long long right_to = 0;
        for (int dim = 0; dim < 4; ++dim) {
            if (dim == row) {
                down_to = at[dim] - down;
            } else if (dim == column) {
                right_to = at[dim] - right;
            } else {
                vector = vector * extents[dim] + at[dim];
            }
        }
        const bool on = down_to == right_to && down_to >= 0 && down_to < length;
        out[i] = on ? x[vector * length + down_to] : kg::from_acc<T_out>(0);
    }
}
