// softmax along any dimension: one block per slice, two passes over it.
//
// The first pass keeps a running maximum and a sum that is rescaled whenever the maximum grows
// ("online" softmax), so the input is read twice instead of three times. The slice of a dimension
// other than the last is strided in memory; the kernel takes the stride as an argument.
/*@plan
x = contiguous(self)
axis = dim + x.ndim if dim < 0 else dim
length = x.shape[axis] if x.ndim > 0 else 1
inner = 1
for i in range(axis + 1, x.ndim):
    inner *= x.shape[i]
slices = x.numel // max(length, 1)
block = 64 if length <= 512 else 256
define("WARPS", block // 32)
launch("softmax", grid=slices, block=block, args=[x, out, length, inner])
@*/

// The maximum of a part of a slice, and the sum of exp(value - maximum) over it.
struct State {
    float maximum;
    float sum;
};

__device__ State combine(State a, State b) {
    // An empty part, or one of nothing but -Inf so far, has the maximum -Inf: exp(-Inf - -Inf)
    // would be NaN, so it is left out. A NaN value is kept in the sum.
    const float maximum = fmaxf(a.maximum, b.maximum);
    const float from_a = a.maximum == -INFINITY ? 0.0f : a.sum * expf(a.maximum - maximum);
    const float from_b = b.maximum == -INFINITY ? 0.0f : b.sum * expf(b.maximum - maximum);
    return {maximum, from_a + from_b};
}

extern "C" __global__ void softmax(const T_self* __restrict__ x, T_out* __restrict__ out,
                                   long long length, long long inner) {
    __shared__ State of_warp[WARPS];
    const long long outer = blockIdx.x / inner;
    const long long base = outer * length * inner + blockIdx.x % inner;

    State state = {-INFINITY, 0.0f};
    bool poisoned = false;
    for (long long i = threadIdx.x; i < length; i += WARPS * 32) {
        const float value = kg::to_float(x[base + i * inner]);
        poisoned = poisoned || value != value;
        state = combine(state, {value, 1.0f});
    }
    if (poisoned) {
        state = {0.0f, NAN};
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        const State other = {__shfl_xor_sync(~0u, state.maximum, distance),
                             __shfl_xor_sync(~0u, state.sum, distance)};
        state = combine(state, other);
    }
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = state;
    }
    __syncthreads();
    state = of_warp[0];
    for (int warp = 1; warp < WARPS; ++warp) {
        state = combine(state, of_warp[warp]);
    }

    for (long long i = threadIdx.x; i < length; i += WARPS * 32) {
        const float value = kg::to_float(x[base + i * inner]);
        out[base + i * inner] = kg::from_float<T_out>(expf(value - state.maximum) / state.sum);
    }
}
