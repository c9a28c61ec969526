/*@plan
x = contiguous(self)
d = dim if dim >= 0 else dim + x.ndim
outer, len_, inner = 1, 1, 1
for i in range(x.ndim):
    if i < d:
        outer *= x.shape[i]
    elif i == d:
        len_ = x.shape[i]
    else:
        inner *= x.shape[i]
launch("normalise", grid=outer * inner, block=256, args=[x, out, outer * inner, len_, inner])
@*/

// Joins a value of every thread: the largest, or the sum.
template <bool LARGEST>
__device__ float fold(float value) {
    __shared__ float part[256];
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float a = part[threadIdx.x], b = part[threadIdx.x + half];
            part[threadIdx.x] = LARGEST ? (b > a || b != b ? b : a) : a + b;
        }
        __syncthreads();
    }
    return part[0];
}

// A block per row, whose elements lie `inner` apart.
extern "C" __global__ void normalise(const T_self* all, T_out* out, long long rows, long long len, long long inner) {
    const long long base = blockIdx.x / inner * len * inner + blockIdx.x % inner;
    const T_self* x = all + base;
    float largest = -INFINITY;
    for (long long i = threadIdx.x; i < len; i += 256) {
        const float v = kg::to_float(x[i * inner]);
        largest = v > largest || v != v ? v : largest;
    }
    largest = fold<true>(largest);
    float sum = 0;
    for (long long i = threadIdx.x; i < len; i += 256) {
        sum += expf(kg::to_float(x[i * inner]) - largest);
    }
    sum = fold<false>(sum);
    for (long long i = threadIdx.x; i < len; i += 256) {
        out[base + i * inner] = kg::from_float<T_out>(expf(kg::to_float(x[i * inner]) - largest) / sum);
    }
}
