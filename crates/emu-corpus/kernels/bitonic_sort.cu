// Bitonic sort of 256 keys per block in shared memory.
#define SIZE 256
extern "C" __global__ void bitonic_sort(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float s[SIZE];
    int base = blockIdx.x * SIZE;
    for (int t = threadIdx.x; t < SIZE; t += blockDim.x) {
        s[t] = base + t < n ? in[base + t] : INFINITY;
    }
    __syncthreads();
    for (int k = 2; k <= SIZE; k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
            for (int t = threadIdx.x; t < SIZE; t += blockDim.x) {
                int other = t ^ j;
                if (other > t) {
                    bool up = (t & k) == 0;
                    float a = s[t];
                    float b = s[other];
                    if ((a > b) == up) {
                        s[t] = b;
                        s[other] = a;
                    }
                }
            }
            __syncthreads();
        }
    }
    for (int t = threadIdx.x; t < SIZE; t += blockDim.x) {
        if (base + t < n) out[base + t] = s[t];
    }
}
