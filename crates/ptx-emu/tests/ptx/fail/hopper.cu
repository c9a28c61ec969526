// sm_90a
// Misuse of asynchronous copies and of wgmma, each kernel once wrong and, with `right`, without the error.

struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define MAP const __grid_constant__ CUtensorMap m

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
DEVICE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void bulk_load(void* to, const void* from, unsigned bytes, unsigned long long* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(bar)) : "memory");
}
DEVICE void bulk_store(void* to, const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
DEVICE void tile_load(void* to, const CUtensorMap* m, int x, int y, unsigned long long* bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 :: "r"(shared_address(to)), "l"(m), "r"(shared_address(bar)), "r"(x), "r"(y) : "memory");
}
DEVICE void wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

__shared__ alignas(1024) float box[256];
__shared__ unsigned long long full, empty;

// The thread that issues the copy reads without a wait.
KERNEL unawaited(const float* x, float* y, int right) {
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 1024);
        bulk_load(box, x, 1024, &full);
        if (right) wait(&full, 0);
        y[0] = box[5];
    }
}

// One warp waits, the other one reads.
KERNEL unordered(const float* x, float* y, int right) {
    if (threadIdx.x == 0) init(&full, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&full, 1024);
        bulk_load(box, x, 1024, &full);
    }
    if (threadIdx.x < 32) wait(&full, 0);
    if (right) __syncthreads();
    if (threadIdx.x >= 32) y[threadIdx.x] = box[threadIdx.x];
}

// Threads read a stage while the next copy fills it.
KERNEL refilled(const float* x, float* y, int right) {
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 1024);
        bulk_load(box, x, 1024, &full);
    }
    __syncthreads();
    wait(&full, 0);
    y[threadIdx.x] = box[threadIdx.x];
    if (right) __syncthreads();
    if (threadIdx.x == 0) {
        expect(&full, 1024);
        bulk_load(box, x + 256, 1024, &full);
    }
    wait(&full, 1);
    y[64 + threadIdx.x] = box[threadIdx.x];
}

// Threads write, a copy reads.
KERNEL unfenced(const float* x, float* y, int right) {
    box[threadIdx.x] = x[threadIdx.x];
    if (right == 1) fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        if (right == 2) fence_async();
        bulk_store(y, box, 256);
        wait_read();
    }
}

// The block ends before its copy has read; `how` leaves out the wait or the commit.
KERNEL exits(const float* x, float* y, int how) {
    box[threadIdx.x] = x[threadIdx.x];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :: "l"(y), "r"(shared_address(box)), "r"(256) : "memory");
        if (how != 1) asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        if (how != 2) wait_read();
    }
}

// The source of a store is written again.
KERNEL reused(const float* x, float* y, int right) {
    for (int k = 0; k < 2; k++) {
        box[threadIdx.x] = x[64 * k + threadIdx.x];
        fence_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulk_store(y + 64 * k, box, 256);
            if (right) wait_read();
        }
        __syncthreads();
    }
}

// More or fewer bytes than announced.
KERNEL bytes(const float* x, float* y, int announced) {
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, announced);
        bulk_load(box, x, 1024, &full);
    }
    __syncthreads();
    wait(&full, 0);
    y[threadIdx.x] = box[threadIdx.x];
}

// A tile of a tensor map; `how` makes it wrong.
KERNEL tiles(MAP, CUtensorMap copy, float* y, int how) {
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 512);
        if (how == 1) {
            asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
                         :: "r"(shared_address(box)), "l"(&m), "r"(shared_address(&full)), "r"(0) : "memory");
        } else if (how == 2) {
            tile_load(box, (CUtensorMap*)((char*)&m + 128), 0, 0, &full);
        } else {
            tile_load(box + (how == 3 ? 4 : how == 4 ? 224 : 0), &m, 0, how == 5 ? 12 : 0, &full);
        }
    }
    __syncthreads();
    wait(&full, 0);
    y[threadIdx.x] = box[threadIdx.x];
}

__shared__ alignas(1024) unsigned short a[64 * 64], b[8 * 64];

// Rows of 128 bytes, swizzled.
DEVICE unsigned long long descriptor(const void* p) {
    return (unsigned long long)((shared_address(p) & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")

DEVICE void multiply(float (&d)[4], unsigned long long a, unsigned long long b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(1));
}

DEVICE void fill(const unsigned short* x) {
    for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) a[i] = x[i];
    for (int i = threadIdx.x; i < 8 * 64; i += blockDim.x) b[i] = x[i];
}

DEVICE void put(float* y, const float (&d)[4]) {
    for (int i = 0; i < 4; i++) y[4 * threadIdx.x + i] = d[i];
}

// Products with one error each: 0 is none.
KERNEL products(const unsigned short* x, float* y, int wrong) {
    float d[4] = {0, 0, 0, 0};
    fill(x);
    if (wrong != 1) fence_async();
    __syncthreads();
    if (wrong != 2) FENCE;
    multiply(d, descriptor(wrong == 6 ? a + 0x30000 / 2 : a), descriptor(b));
    multiply(d, descriptor(a) + 2, descriptor(b) + 2);
    COMMIT;
    if (wrong == 3) put(y, d);
    if (wrong == 4) a[threadIdx.x * 8] = 1;
    WAIT;
    if (wrong == 5) {
        for (int i = 0; i < 4; i++) d[i] += 1.0f;
        multiply(d, descriptor(a), descriptor(b));
        COMMIT;
        WAIT;
    }
    put(y, d);
}

// A stage is given back before the products that read it are over.
KERNEL released(const unsigned short* x, float* y, int right) {
    if (threadIdx.x == 0) {
        init(&full, 1);
        init(&empty, 128);
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            for (int k = 0; k < 2; k++) {
                wait(&empty, k ^ 1);
                expect(&full, 8192 + 1024);
                bulk_load(a, x + 4096 * k, 8192, &full);
                bulk_load(b, x, 1024, &full);
            }
        return;
    }
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < 2; k++) {
        wait(&full, k);
        FENCE;
        multiply(d, descriptor(a), descriptor(b));
        COMMIT;
        if (right) WAIT;
        arrive(&empty);
        if (!right) WAIT;
    }
    put(y, d);
}
