// sm_90a
// C = A B^T of bf16 matrices: a warp loads tiles by tensor maps, two warpgroups multiply them.

struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };

#define DEVICE __device__ __forceinline__

DEVICE unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
DEVICE void init(unsigned long long* bar, unsigned n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(bar)), "r"(n) : "memory");
}
DEVICE void expect(unsigned long long* bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(bar)), "r"(bytes) : "memory");
}
DEVICE void arrive(unsigned long long* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(bar)) : "memory");
}
DEVICE void wait(unsigned long long* bar, unsigned parity) {
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra done;\nbra again;\ndone:\n}"
                 :: "r"(shared_address(bar)), "r"(parity) : "memory");
}
DEVICE void load(void* to, const CUtensorMap* m, int x, int y, unsigned long long* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 :: "r"(shared_address(to)), "l"(m), "r"(shared_address(bar)), "r"(x), "r"(y) : "memory");
}
DEVICE unsigned long long descriptor(const void* p) {
    return (unsigned long long)((shared_address(p) & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

DEVICE void multiply(float (&d)[64], unsigned long long a, unsigned long long b, int scale) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, 0, 0;\n}"
        : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56)
        : "l"(a), "l"(b), "r"(scale));
}

struct Stage {
    alignas(1024) unsigned short a[128 * 64];
    alignas(1024) unsigned short b[128 * 64];
};

extern __shared__ __align__(1024) unsigned char memory[];

extern "C" __global__ void __launch_bounds__(384)
gemm(const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, float* c, int m, int n, int k) {
    const int stages = 4;
    Stage* stage = (Stage*)memory;
    __shared__ unsigned long long full[stages], empty[stages];
    if (threadIdx.x == 0)
        for (int i = 0; i < stages; i++) {
            init(&full[i], 1);
            init(&empty[i], 2);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    int steps = k / 64;
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            for (int i = 0; i < steps; i++) {
                int s = i % stages;
                wait(&empty[s], i / stages % 2 ^ 1);
                expect(&full[s], sizeof(Stage));
                load(stage[s].a, &ma, 64 * i, 128 * blockIdx.y, &full[s]);
                load(stage[s].b, &mb, 64 * i, 128 * blockIdx.x, &full[s]);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int group = threadIdx.x / 128 - 1, t = threadIdx.x % 128;
    float d[64];
    for (int i = 0; i < steps; i++) {
        int s = i % stages;
        wait(&full[s], i / stages % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int j = 0; j < 4; j++)
            multiply(d, descriptor(stage[s].a + group * 64 * 64) + 2 * j, descriptor(stage[s].b) + 2 * j, i + j > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (i > 0) {
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (t == 0) arrive(&empty[(i - 1) % stages]);
        }
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    int row = blockIdx.y * 128 + group * 64 + t / 32 * 16 + t % 32 / 4;
    int column = blockIdx.x * 128 + t % 4 * 2;
    for (int i = 0; i < 16; i++)
        for (int h = 0; h < 2; h++)
            *(float2*)(c + (row + 8 * h) * n + column + 8 * i) = make_float2(d[4 * i + 2 * h], d[4 * i + 2 * h + 1]);
}
