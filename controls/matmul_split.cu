/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
splits = 4
define("ACC", "double" if a.dtype == "f64" else "float")
partial = scratch((8 if a.dtype == "f64" else 4) * max(splits * m * n, 1))
launch("multiply", grid=(cdiv(n, 16), cdiv(m, 8), splits), block=(16, 8),
       args=[a, b, partial, m, n, k, cdiv(k, splits)])
launch("add_up", grid=cdiv(m * n, 128), block=128, args=[partial, out, m * n, splits])
@*/

// Partial products of four parts of k, added up by a second launch.
extern "C" __global__ void multiply(const T_self* in_a, const T_mat2* in_b, ACC* partial, int m, int n, int k, int part) {
    const int col = blockIdx.x * 16 + threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= m || col >= n) {
        return;
    }
    const int from = blockIdx.z * part;
    const int to = min(from + part, k);
    ACC sum = 0;
    for (int l = from; l < to; ++l) {
        sum += static_cast<ACC>(in_a[row * k + l]) * static_cast<ACC>(in_b[l * n + col]);
    }
    partial[(static_cast<long long>(blockIdx.z) * m + row) * n + col] = sum;
}

extern "C" __global__ void add_up(const ACC* partial, T_out* out, long long count, int splits) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < count) {
        ACC sum = 0;
        for (int split = 0; split < splits; ++split) {
            sum += partial[split * count + i];
        }
        out[i] = static_cast<T_out>(sum);
    }
}
