// Baseline of w8a8_block_fp8_matmul: a thread per element, the products of a block summed in order.
/*@plan
a = contiguous(A)
b = contiguous(B)
a_scale = contiguous(As)
b_scale = contiguous(Bs)
m, k = A.shape
n = B.shape[0]
launch("w8a8_block_fp8_matmul", grid=cdiv(out.numel, 256), block=256,
       args=[a, b, a_scale, b_scale, out, out.numel, n, k, block_size[0], block_size[1]])
@*/

extern "C" __global__ void __launch_bounds__(256)
w8a8_block_fp8_matmul(const T_A* __restrict__ a, const T_B* __restrict__ b,
                      const float* __restrict__ a_scale, const float* __restrict__ b_scale,
                      T_out* __restrict__ out, long long count, int n, int k, int block_n,
                      int block_k) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long row = i / n;
    const long long column = i % n;
    const int blocks = (k + block_k - 1) / block_k;
    float total = 0.0f;
    for (int block = 0; block < blocks; ++block) {
        float sum = 0.0f;
        const int end = min(k, (block + 1) * block_k);
        for (int l = block * block_k; l < end; ++l) {
            sum = fmaf(kg::to_float(a[row * k + l]), kg::to_float(b[column * k + l]), sum);
        }
        const float scale = b_scale[column / block_n * blocks + block];
        total += sum * (a_scale[row * blocks + block] * scale);
    }
    out[i] = kg::from_float<T_out>(total);
}
