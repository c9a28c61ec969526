// op: mm  expect: passed  f32 partial products of four parts of k in scratch, added up by a second launch
/*@plan
a = contiguous(self)
b = contiguous(mat2)
m, k = a.shape
n = b.shape[1]
splits = 4
partial = scratch(4 * splits * m * n)
launch("multiply", grid=(cdiv(n, 16), cdiv(m, 16), splits), block=(16, 16),
       args=[a, b, partial, m, n, k, cdiv(k, splits)])
launch("add_up", grid=cdiv(m * n, 256), block=256, args=[partial, out, m * n, splits])
@*/

extern "C" __global__ void multiply(const T_self* a, const T_mat2* b, float* partial, int m, int n,
                                    int k, int part) {
    const int col = blockIdx.x * 16 + threadIdx.x;
    const int row = blockIdx.y * 16 + threadIdx.y;
    if (row >= m || col >= n) {
        return;
    }
    const int from = blockIdx.z * part;
    const int to = min(from + part, k);
    float sum = 0.0f;
    for (int l = from; l < to; ++l) {
        sum += kg::to_float(a[row * k + l]) * kg::to_float(b[l * n + col]);
    }
    partial[(static_cast<long long>(blockIdx.z) * m + row) * n + col] = sum;
}

extern "C" __global__ void add_up(const float* partial, T_out* out, long long count, int splits) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < count) {
        float sum = 0.0f;
        for (int split = 0; split < splits; ++split) {
            sum += partial[split * count + i];
        }
        out[i] = kg::from_float<T_out>(sum);
    }
}
