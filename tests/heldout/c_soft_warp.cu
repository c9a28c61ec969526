/*@plan
x = contiguous(self)
axis = dim + x.ndim if dim < 0 else dim
length = x.shape[axis] if x.ndim > 0 else 1
inner = 1
for i in range(axis + 1, x.ndim):
    inner *= x.shape[i]
slices = x.numel // max(length, 1)
launch("soft", grid=cdiv(slices, 4), block=128, args=[x, out, slices, length, inner])
@*/

// A warp per slice, with a running maximum and a sum that is rescaled when it grows.
extern "C" __global__ void soft(const T_self* __restrict__ in, T_out* __restrict__ out, long long slices, long long length, long long inner) {
    const int lane = threadIdx.x % 32;
    const long long slice = blockIdx.x * 4ll + threadIdx.x / 32;
    if (slice >= slices) {
        return;
    }
    const long long base = slice / inner * length * inner + slice % inner;
    float top = -INFINITY;
    float sum = 0.0f;
    for (long long k = lane; k < length; k += 32) {
        const float x = kg::to_float(in[base + k * inner]);
        if (x != x || x == INFINITY) {
            sum = NAN;
        } else if (x > top) {
            sum = (top == -INFINITY ? sum : sum * expf(top - x)) + 1.0f;
            top = x;
        } else if (x != -INFINITY) {
            sum += expf(x - top);
        }
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const float other_top = __shfl_xor_sync(~0u, top, distance);
        const float other_sum = __shfl_xor_sync(~0u, sum, distance);
        const float both = fmaxf(top, other_top);
        sum = (top == both ? sum : top == -INFINITY && sum == sum ? 0.0f : sum * expf(top - both)) + (other_top == both ? other_sum : other_top == -INFINITY && other_sum == other_sum ? 0.0f : other_sum * expf(other_top - both));
        top = both;
    }
    const float total = sum;
    for (long long k = lane; k < length; k += 32) {
        const float d = kg::to_float(in[base + k * inner]) - top;
        out[base + k * inner] = kg::from_float<T_out>(@F@);
    }
}
