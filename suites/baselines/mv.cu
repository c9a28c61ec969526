// Baseline of mv: a warp per row, lanes side by side in it.
/*@plan
m, k = self.shape
launch("mv", grid=cdiv(m, 8), block=(32, 8), args=[self, vec, out, m, k, self.stride[0],
                                                   self.stride[1], vec.stride[0]])
@*/

extern "C" __global__ void mv(const T_self* __restrict__ a, const T_vec* __restrict__ x,
                              T_out* __restrict__ out, int m, int k, long long row_stride,
                              long long column_stride, long long x_stride) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= m) {
        return;  // All lanes of the warp leave.
    }
    float sum = 0.0f;
    for (int l = threadIdx.x; l < k; l += 32) {
        const T_self value = a[row * row_stride + l * column_stride];
        sum = fmaf(kg::to_float(value), kg::to_float(x[l * x_stride]), sum);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x == 0) {
        out[row] = kg::from_float<T_out>(sum);
    }
}
