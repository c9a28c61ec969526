// Best score and its position per class: both packed in 64 bits for one atomicMax.
extern "C" __global__ void argmax_packed(const int* __restrict__ score, const int* __restrict__ label, unsigned long long* best, int n, int classes) {
    extern __shared__ unsigned long long local[];
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        local[c] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned long long key = ((unsigned long long)score[i] << 20) | (unsigned)i;
        atomicMax(&local[label[i]], key);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        if (local[c] != 0) atomicMax(&best[c], local[c]);
    }
}
