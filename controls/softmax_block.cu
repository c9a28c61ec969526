/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
rows, len_, inner = 1, 1, 1
for i in range(x.ndim):
    if i < d:
        rows *= x.shape[i]
    elif i == d:
        len_ = x.shape[i]
    else:
        inner *= x.shape[i]
n = rows * inner
define("ACC", "double" if x.dtype == "f64" else "float")
launch("softmax", grid=n, block=64, args=[x, out, len_, inner])
@*/

// A block per row; trees in shared memory find maximum and sum.
extern "C" __global__ void softmax(const T_self* in, T_out* out, int len, int inner) {
    __shared__ ACC tree[64];
    const long long row = blockIdx.x;
    const int t = threadIdx.x;
    const long long base = row / inner * len * inner + row % inner;
    ACC largest = -INFINITY;
    for (int i = t; i < len; i += 64) {
        const ACC x = static_cast<ACC>(in[base + i * inner]);
        largest = x > largest || x != x ? x : largest;
    }
    tree[t] = largest;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            const ACC x = tree[t + half];
            tree[t] = x > tree[t] || x != x ? x : tree[t];
        }
        __syncthreads();
    }
    largest = tree[0];
    __syncthreads();
    ACC sum = 0;
    for (int i = t; i < len; i += 64) {
        sum += exp(static_cast<ACC>(in[base + i * inner]) - largest);
    }
    tree[t] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            tree[t] += tree[t + half];
        }
        __syncthreads();
    }
    sum = tree[0];
    for (int k = t; k < len; k += 64) {
        const ACC x = static_cast<ACC>(in[base + k * inner]);
        const ACC y = @F@;
        out[base + k * inner] = static_cast<T_out>(y);
    }
}
