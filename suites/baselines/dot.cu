// Baseline of dot: one block, a sum per thread, then a tree over the block.
/*@plan
launch("dot", grid=1, block=256, args=[self, tensor, out, self.numel, self.stride[0],
                                       tensor.stride[0]])
@*/

extern "C" __global__ void dot(const T_self* __restrict__ x, const T_tensor* __restrict__ y,
                               T_out* __restrict__ out, long long n, long long x_stride,
                               long long y_stride) {
    __shared__ float partial[256];
    float sum = 0.0f;
    for (long long i = threadIdx.x; i < n; i += 256) {
        sum = fmaf(kg::to_float(x[i * x_stride]), kg::to_float(y[i * y_stride]), sum);
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int offset = 128; offset > 0; offset /= 2) {
        if (threadIdx.x < offset) {
            partial[threadIdx.x] += partial[threadIdx.x + offset];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[0] = kg::from_float<T_out>(partial[0]);
    }
}
