/*@plan
x = contiguous(input)
w = contiguous(weight)
n = prod(w.shape, 0, w.ndim - 1)
k = w.shape[-1]
rows = prod(x.shape, 0, x.ndim - 1)
total = rows * n
block = param("BLOCK", [256, 128, 512])
# Sums stay f32 whatever the element type: the epilogue rounds once.
acc = scratch(total * (8 if x.dtype == "f64" else 4))
matmul(x, w, acc, m=rows, n=n, k=k, trans_b=True)
row = contiguous(bias)
launch("epilogue", grid=min(cdiv(total, block), 32 * sm_count), block=block,
       args=[ptr(acc), row, out, total, n, row.numel if has(bias) else 0])
@*/

extern "C" __global__ void epilogue(const kg::acc_t<T_input>* __restrict__ acc, const T_bias* __restrict__ bias,
                                    T_out* __restrict__ out, long long total, long long n, long long n_bias) {
    const long long step = (long long)gridDim.x * BLOCK;
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < total; i += step) {
        kg::acc_t<T_input> sum = acc[i];
        if (n_bias > 0) {
            // One element, one row, or all: a bias broadcasts.
            sum += kg::to_acc(bias[n_bias == n ? i % n : i % n_bias]);
        }
        out[i] = kg::from_acc<T_out>(sum);
    }
}
