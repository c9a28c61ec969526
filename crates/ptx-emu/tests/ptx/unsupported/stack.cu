// sm_90
extern "C" __global__ void stack(unsigned long long* y, int use) {
    if (use) {
        asm volatile("stacksave.u64 %0;" : "=l"(y[threadIdx.x]));
    }
}
