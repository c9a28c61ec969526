// Every thread, lanes of a warp too, takes a lock and updates plain data under it.
extern "C" __global__ void spin_lock(int* lock, volatile int* total, volatile int* largest, const int* __restrict__ x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *total = *total + x[i];
            if (x[i] > *largest) *largest = x[i];
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
