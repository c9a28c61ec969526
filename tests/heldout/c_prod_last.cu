/*@plan
@PLAN@
blocks = min(max(cdiv(k, 256), 1), 64)
part = scratch(blocks * 4)
tickets = scratch(4, zero=True)
launch("product", grid=blocks, block=128, args=[a, w, out, k, part, tickets])
@*/

// One output: a part per block, the block that is done last adds up the parts.
extern "C" __global__ void product(const T_@A@* a, const T_@W@* w, T_out* out, long long k, float* part, unsigned* tickets) {
    __shared__ float tree[128];
    __shared__ bool last;
    float sum = 0;
    for (long long l = blockIdx.x * 128ll + threadIdx.x; l < k; l += gridDim.x * 128ll) {
        sum = fmaf(kg::to_float(a[l]), kg::to_float(w[l]), sum);
    }
    tree[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            tree[threadIdx.x] += tree[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = tree[0];
        __threadfence();
        last = atomicAdd(tickets, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        float total = 0;
        for (unsigned p = 0; p < gridDim.x; ++p) {
            total += *const_cast<volatile float*>(&part[p]);
        }
        out[0] = kg::from_float<T_out>(total);
    }
}
