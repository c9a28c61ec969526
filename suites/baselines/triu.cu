// Baseline of triu: one thread per element, kept or zero by its row and column.
/*@plan
x = contiguous(self)
n = x.numel
rows = max(1, x.shape[-2])
columns = max(1, x.shape[-1])
launch("triu", grid=min(cdiv(n, 256), 16 * sm_count), block=256, args=[x, out, n, rows, columns, diagonal])
@*/

extern "C" __global__ void __launch_bounds__(256)
triu(const T_self* __restrict__ x, T_out* __restrict__ out, long long n, long long rows,
     long long columns, long long diagonal) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        const long long column = i % columns;
        const long long row = i / columns % rows;
        out[i] = column - row >= diagonal ? x[i] : kg::from_acc<T_out>(0);
    }
}
