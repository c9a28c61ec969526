/*@plan
@SHAPE@
a = expand(self, shape)
b = expand(target, shape)
@PLAN@
n = a.numel
if reduction == 0:
    launch("each", grid=cdiv(n, 256), block=256, args=[a, b, @ARGS@out, n])
else:
    parts = max(1, min(cdiv(n, 1024), 2 * sm_count))
    part = scratch(parts * 4)
    launch("partial", grid=parts, block=256, args=[a, b, @ARGS@part, n])
    launch("finish", grid=1, block=32, args=[part, out, parts, n, reduction])
@*/

__device__ float loss(float x, float t@PARAMS@) {
@F@
}

extern "C" __global__ void each(const T_self* __restrict__ a, const T_target* __restrict__ b, @POINTERS@T_out* __restrict__ out, long long n) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) {
        out[i] = kg::from_float<T_out>(loss(kg::to_float(a[i]), kg::to_float(b[i])@CALL@));
    }
}

// A part of the sum per block.
extern "C" __global__ void partial(const T_self* __restrict__ a, const T_target* __restrict__ b, @POINTERS@float* __restrict__ part, long long n) {
    __shared__ float tree[256];
    float sum = 0.0f;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += 256ll * gridDim.x) {
        sum += loss(kg::to_float(a[i]), kg::to_float(b[i])@CALL@);
    }
    tree[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            tree[threadIdx.x] += tree[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = tree[0];
    }
}

extern "C" __global__ void finish(const float* __restrict__ part, T_out* __restrict__ out, int parts, long long n, int reduction) {
    float sum = 0.0f;
    for (int k = threadIdx.x; k < parts; k += 32) {
        sum += part[k];
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (threadIdx.x == 0) {
        out[0] = kg::from_float<T_out>(reduction == 1 ? sum / static_cast<float>(n) : sum);
    }
}
