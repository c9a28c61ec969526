/*@plan
x = contiguous(self)
axis = dim + x.ndim if dim < 0 else dim
length = x.shape[axis] if x.ndim > 0 else 1
inner = 1
for i in range(axis + 1, x.ndim):
    inner *= x.shape[i]
slices = x.numel // max(length, 1)
launch("soft", grid=slices, block=128, args=[x, out, length, inner])
@*/

__device__ float larger(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }

// A block per slice, three passes.
extern "C" __global__ void soft(const T_self* __restrict__ in, T_out* __restrict__ out, long long length, long long inner) {
    __shared__ float tree[128];
    const int t = threadIdx.x;
    const long long slice = blockIdx.x;
    const long long base = slice / inner * length * inner + slice % inner;
    float top = -INFINITY;
    for (long long k = t; k < length; k += 128) {
        top = larger(top, kg::to_float(in[base + k * inner]));
    }
    tree[t] = top;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) {
            tree[t] = larger(tree[t], tree[t + half]);
        }
        __syncthreads();
    }
    top = tree[0];
    __syncthreads();
    float sum = 0.0f;
    for (long long k = t; k < length; k += 128) {
        sum += expf(kg::to_float(in[base + k * inner]) - top);
    }
    tree[t] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) {
            tree[t] += tree[t + half];
        }
        __syncthreads();
    }
    const float total = tree[0];
    for (long long k = t; k < length; k += 128) {
        const float d = kg::to_float(in[base + k * inner]) - top;
        out[base + k * inner] = kg::from_float<T_out>(@F@);
    }
}
