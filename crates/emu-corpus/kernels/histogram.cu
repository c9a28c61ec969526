// Histogram of bytes in shared memory, and atomics of many kinds with votes.
extern "C" __global__ void hist(const unsigned char* __restrict__ d, unsigned* __restrict__ h, size_t n) {
    __shared__ unsigned sh[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) sh[i] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        atomicAdd(&sh[d[i]], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        if (sh[i]) atomicAdd(&h[i], sh[i]);
    }
}
__device__ float atomicMaxF(float* a, float v) {
    // A plain first read would race with the other threads' exchanges.
    int* p = (int*)a;
    int old = *(volatile int*)p, as;
    do {
        as = old;
        old = atomicCAS(p, as, __float_as_int(fmaxf(v, __int_as_float(as))));
    } while (as != old);
    return __int_as_float(old);
}
__device__ unsigned done = 0;
extern "C" __global__ void maxlast(const float* x, float* m, double* dsum, unsigned long long* cnt, unsigned* u, int* lowest, int n) {
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMaxF(m, x[i]);
        atomicAdd(cnt, 1ull);
        atomicAdd(dsum, (double)x[i]);
        atomicOr(&u[0], 1u << (i & 31));
        atomicAnd(&u[1], ~(1u << (i % 23)));
        atomicMax(&u[2], (unsigned)i);
        atomicMin(lowest, -i);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = (atomicInc(&done, gridDim.x - 1) == gridDim.x - 1);
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) *(volatile float*)m = *(volatile float*)m * 2.f;
    unsigned b = __ballot_sync(0xffffffffu, i & 1);
    if (__any_sync(~0u, i == 5) && __popc(b) > 3 && __all_sync(~0u, n > 3)) atomicSub(&u[3], __ffs(b) + __clz(b));
    unsigned mm = __match_any_sync(__activemask(), i & 3);
    atomicXor(&u[4], (mm ^ (unsigned)i * 2654435761u) + __reduce_add_sync(~0u, (unsigned)i));
}
