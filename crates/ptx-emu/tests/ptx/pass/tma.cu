// sm_90a
// Copies by tensor maps, bulk copies, and their mbarriers.

struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };

#define DEVICE __device__ __forceinline__

DEVICE unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

DEVICE void init(unsigned long long* bar, unsigned n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(bar)), "r"(n) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void expect(unsigned long long* bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(bar)), "r"(bytes) : "memory");
}

DEVICE void wait(unsigned long long* bar, unsigned parity) {
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra done;\nbra again;\ndone:\n}"
                 :: "r"(shared_address(bar)), "r"(parity) : "memory");
}

DEVICE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
DEVICE void wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
DEVICE void wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

#define LOAD "cp.async.bulk.tensor."
#define TILE ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {"

template <int Rank>
DEVICE void load(void* to, const CUtensorMap* m, const int* c, unsigned long long* bar) {
    unsigned d = shared_address(to), b = shared_address(bar);
    if constexpr (Rank == 1)
        asm volatile(LOAD "1d" TILE "%3}], [%2];" :: "r"(d), "l"(m), "r"(b), "r"(c[0]) : "memory");
    if constexpr (Rank == 2)
        asm volatile(LOAD "2d" TILE "%3, %4}], [%2];" :: "r"(d), "l"(m), "r"(b), "r"(c[0]), "r"(c[1]) : "memory");
    if constexpr (Rank == 3)
        asm volatile(LOAD "3d" TILE "%3, %4, %5}], [%2];"
                     :: "r"(d), "l"(m), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");
    if constexpr (Rank == 4)
        asm volatile(LOAD "4d" TILE "%3, %4, %5, %6}], [%2];"
                     :: "r"(d), "l"(m), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]) : "memory");
    if constexpr (Rank == 5)
        asm volatile(LOAD "5d" TILE "%3, %4, %5, %6, %7}], [%2];"
                     :: "r"(d), "l"(m), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]) : "memory");
}

#define STORE ".global.shared::cta.tile.bulk_group [%1, {"
#define OPERANDS1 "r"(s), "l"(m), "r"(c[0])
#define OPERANDS2 OPERANDS1, "r"(c[1])
#define OPERANDS3 OPERANDS2, "r"(c[2])
#define OPERANDS4 OPERANDS3, "r"(c[3])
#define OPERANDS5 OPERANDS4, "r"(c[4])

template <int Rank>
DEVICE void store(const CUtensorMap* m, const void* from, const int* c) {
    unsigned s = shared_address(from);
    if constexpr (Rank == 1) asm volatile(LOAD "1d" STORE "%2}], [%0];" :: OPERANDS1 : "memory");
    if constexpr (Rank == 2) asm volatile(LOAD "2d" STORE "%2, %3}], [%0];" :: OPERANDS2 : "memory");
    if constexpr (Rank == 3) asm volatile(LOAD "3d" STORE "%2, %3, %4}], [%0];" :: OPERANDS3 : "memory");
    if constexpr (Rank == 4) asm volatile(LOAD "4d" STORE "%2, %3, %4, %5}], [%0];" :: OPERANDS4 : "memory");
    if constexpr (Rank == 5) asm volatile(LOAD "5d" STORE "%2, %3, %4, %5, %6}], [%0];" :: OPERANDS5 : "memory");
}

extern __shared__ __align__(1024) unsigned char tile[];

// The bytes of a tile as they lie in shared memory; those that the copy leaves alone are 0xee.
template <int Rank>
DEVICE void dump(const CUtensorMap& m, unsigned* out, const int* c, int expected, int bytes) {
    __shared__ unsigned long long bar;
    unsigned* words = (unsigned*)tile;
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) words[i] = 0xeeeeeeee;
    fence_async();
    if (threadIdx.x == 0) init(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&bar, expected);
        load<Rank>(tile, &m, c, &bar);
    }
    wait(&bar, 0);
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = words[i];
}

#define MAP const __grid_constant__ CUtensorMap m

extern "C" __global__ void load1(MAP, unsigned* out, int expected, int bytes, int a) {
    int c[] = {a};
    dump<1>(m, out, c, expected, bytes);
}
extern "C" __global__ void load2(MAP, unsigned* out, int expected, int bytes, int a, int b) {
    int c[] = {a, b};
    dump<2>(m, out, c, expected, bytes);
}
extern "C" __global__ void load3(MAP, unsigned* out, int expected, int bytes, int a, int b, int d) {
    int c[] = {a, b, d};
    dump<3>(m, out, c, expected, bytes);
}
extern "C" __global__ void load4(MAP, unsigned* out, int expected, int bytes, int a, int b, int d, int e) {
    int c[] = {a, b, d, e};
    dump<4>(m, out, c, expected, bytes);
}
extern "C" __global__ void load5(MAP, unsigned* out, int expected, int bytes, int a, int b, int d, int e, int f) {
    int c[] = {a, b, d, e, f};
    dump<5>(m, out, c, expected, bytes);
}

// The bytes of `in`, as they lie in shared memory, go to a tile of a tensor.
template <int Rank>
DEVICE void fill(const CUtensorMap& m, const unsigned* in, const int* c, int bytes) {
    unsigned* words = (unsigned*)tile;
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) words[i] = in[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        store<Rank>(&m, tile, c);
        commit();
        wait_all();
    }
}

extern "C" __global__ void store1(MAP, const unsigned* in, int bytes, int a) {
    int c[] = {a};
    fill<1>(m, in, c, bytes);
}
extern "C" __global__ void store2(MAP, const unsigned* in, int bytes, int a, int b) {
    int c[] = {a, b};
    fill<2>(m, in, c, bytes);
}
extern "C" __global__ void store3(MAP, const unsigned* in, int bytes, int a, int b, int d) {
    int c[] = {a, b, d};
    fill<3>(m, in, c, bytes);
}
extern "C" __global__ void store5(MAP, const unsigned* in, int bytes, int a, int b, int d, int e, int f) {
    int c[] = {a, b, d, e, f};
    fill<5>(m, in, c, bytes);
}

// Adds the bytes of `in` to a tile of a tensor, twice.
extern "C" __global__ void add2(MAP, const unsigned* in, int bytes, int a, int b) {
    unsigned* words = (unsigned*)tile;
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) words[i] = in[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];"
                         :: "l"(&m), "r"(a), "r"(b), "r"(shared_address(tile)) : "memory");
        commit();
        wait_all();
    }
}

DEVICE void pixels(const CUtensorMap& m, unsigned* out, int expected, int bytes, int rank, const int* c, const int* o) {
    __shared__ unsigned long long bar;
    unsigned* words = (unsigned*)tile;
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) words[i] = 0xeeeeeeee;
    fence_async();
    if (threadIdx.x == 0) init(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&bar, expected);
        unsigned d = shared_address(tile), b = shared_address(&bar);
        unsigned short w = o[0], h = o[1], z = o[2];
        if (rank == 3)
            asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%3, %4, %5}], [%2], {%6};"
                         :: "r"(d), "l"(&m), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "h"(w) : "memory");
        else if (rank == 4)
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
                         :: "r"(d), "l"(&m), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "h"(w), "h"(h) : "memory");
        else
            asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};"
                         :: "r"(d), "l"(&m), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]),
                            "h"(w), "h"(h), "h"(z) : "memory");
    }
    wait(&bar, 0);
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = words[i];
}

// Pixels of a convolution: coordinates, then offsets.
extern "C" __global__ void im2col(MAP, unsigned* out, int expected, int bytes, int rank, int c0, int c1, int c2,
                                  int c3, int c4, int o0, int o1, int o2) {
    int c[] = {c0, c1, c2, c3, c4}, o[] = {o0, o1, o2};
    pixels(m, out, expected, bytes, rank, c, o);
}

DEVICE void bulk_load(void* to, const void* from, unsigned bytes, unsigned long long* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(bar)) : "memory");
}

DEVICE void bulk_store(void* to, const void* from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :: "l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}

// A ring of stages of 512 bytes: a warp loads, another one stores what the others negated.
extern "C" __global__ void ring(const float* x, float* y, int n) {
    __shared__ alignas(128) float stage[3][128];
    __shared__ alignas(128) float result[2][128];
    __shared__ unsigned long long full[3], empty[3];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        for (int i = 0; i < 3; i++) {
            init(&full[i], 1);
            init(&empty[i], 4);
        }
    __syncthreads();
    if (warp == 4) {
        if (lane == 0)
            for (int k = 0; k < n; k++) {
                int s = k % 3;
                wait(&empty[s], k / 3 % 2 ^ 1);
                expect(&full[s], 512);
                bulk_load(stage[s], x + 128 * k, 512, &full[s]);
            }
        return;
    }
    for (int k = 0; k < n; k++) {
        int s = k % 3;
        wait(&full[s], k / 3 % 2);
        float value = stage[s][threadIdx.x];
        __syncwarp();
        if (lane == 0)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(&empty[s])) : "memory");
        if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        asm volatile("bar.sync 1, 128;" ::: "memory");
        result[k % 2][threadIdx.x] = -value;
        fence_async();
        asm volatile("bar.sync 1, 128;" ::: "memory");
        if (threadIdx.x == 0) {
            bulk_store(y + 128 * k, result[k % 2], 512);
            commit();
        }
    }
    if (threadIdx.x == 0) wait_all();
}

// Sums rows of 256 numbers in place.
extern "C" __global__ void sum_rows(const float* x, float* y) {
    __shared__ alignas(128) float row[256];
    row[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                     :: "l"(y), "r"(shared_address(row)), "r"(1024) : "memory");
        commit();
        wait_read();
    }
}

// A tile for both blocks of a cluster, half of it loaded by each.
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast(MAP, unsigned* out, int rows, int bytes) {
    __shared__ unsigned long long bar;
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        init(&bar, 1);
        expect(&bar, 2 * bytes);
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%2, %3}], [%4], %5;"
                     :: "r"(shared_address(tile + rank * bytes)), "l"(&m), "r"(0), "r"(int(rank) * rows),
                        "r"(shared_address(&bar)), "h"((unsigned short)3) : "memory");
    wait(&bar, 0);
    unsigned* words = (unsigned*)tile;
    for (int i = threadIdx.x; i < bytes / 2; i += blockDim.x) out[blockIdx.x * (bytes / 2) + i] = words[i];
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// Blocks of a cluster send each other their numbers: in bulk, and one by one.
extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(const int* x, int* y) {
    __shared__ alignas(128) int mine[64], theirs[64], single[64];
    __shared__ unsigned long long bar;
    unsigned rank, there, there_bar, there_single;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        init(&bar, 1);
        expect(&bar, 512);
    }
    mine[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    fence_async();
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(theirs)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there_bar) : "r"(shared_address(&bar)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there_single) : "r"(shared_address(single)), "r"(rank ^ 1));
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(there), "r"(shared_address(mine)), "r"(256), "r"(there_bar) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 :: "r"(there_single + 4 * threadIdx.x), "r"(mine[threadIdx.x] * 3), "r"(there_bar) : "memory");
    wait(&bar, 0);
    y[blockIdx.x * 64 + threadIdx.x] = theirs[threadIdx.x] + single[63 - threadIdx.x];
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

#define CLUSTER_BARRIER asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")

DEVICE unsigned rank_of() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

DEVICE unsigned there(const void* p, unsigned rank) {
    unsigned to;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_address(p)), "r"(rank));
    return to;
}

// Block 0 loads for both, and each adds its numbers to the other's.
extern "C" __global__ void __cluster_dims__(2, 1, 1) shares(const unsigned* x, unsigned* y) {
    __shared__ alignas(128) unsigned mine[64], both[64], sums[64];
    __shared__ alignas(16) unsigned long long wide[32];
    __shared__ unsigned long long bar;
    unsigned rank = rank_of();
    mine[threadIdx.x] = x[64 * rank + threadIdx.x];
    sums[threadIdx.x] = 1000;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        expect(&bar, 256 + 256 + 256 + 256);
    }
    fence_async();
    CLUSTER_BARRIER;
    if (threadIdx.x == 0) {
        if (rank == 0)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                         "[%0], [%1], %2, [%3], %4;"
                         :: "r"(shared_address(both)), "l"(x + 128), "r"(256), "r"(shared_address(&bar)),
                            "h"((unsigned short)3) : "memory");
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
                     "[%0], [%1], %2, [%3];"
                     :: "r"(there(sums, rank ^ 1)), "r"(shared_address(mine)), "r"(256), "r"(there(&bar, rank ^ 1))
                     : "memory");
    }
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                 :: "r"(there(sums + threadIdx.x, rank ^ 1)), "r"(threadIdx.x), "r"(there(&bar, rank ^ 1)) : "memory");
    if (threadIdx.x < 32)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
                     :: "r"(there(wide + threadIdx.x, rank ^ 1)), "l"(7ull << 32 | threadIdx.x),
                        "r"(there(&bar, rank ^ 1)) : "memory");
    wait(&bar, 0);
    unsigned w = (unsigned)(wide[threadIdx.x / 2] >> (threadIdx.x % 2 * 32));
    y[64 * rank + threadIdx.x] = both[threadIdx.x] + sums[threadIdx.x] + w;
    CLUSTER_BARRIER;
}

// The pixels that `im2col` loads, for both blocks of a cluster.
extern "C" __global__ void __cluster_dims__(2, 1, 1) pixels_for_both(MAP, unsigned* out, int bytes) {
    __shared__ unsigned long long bar;
    unsigned rank = rank_of();
    if (threadIdx.x == 0) {
        init(&bar, 1);
        expect(&bar, bytes);
    }
    CLUSTER_BARRIER;
    if (threadIdx.x == 0 && rank == 1)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%3, %4, %5}], [%2], {%6}, %7;"
                     :: "r"(shared_address(tile)), "l"(&m), "r"(shared_address(&bar)), "r"(0), "r"(0), "r"(0),
                        "h"((unsigned short)1), "h"((unsigned short)3) : "memory");
    wait(&bar, 0);
    unsigned* words = (unsigned*)tile;
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[rank * (bytes / 4) + i] = words[i];
    CLUSTER_BARRIER;
}

// A map made anew in shared memory: another tensor of 16 by `rows` floats, in boxes of 16 by 4.
extern "C" __global__ void remade(MAP, unsigned char* place, const float* x, float* y, int rows) {
    __shared__ alignas(128) CUtensorMap made;
    __shared__ unsigned long long bar;
    if (threadIdx.x == 0) init(&bar, 1);
    if (threadIdx.x < 16) made.opaque[threadIdx.x] = m.opaque[threadIdx.x];
    __syncthreads();
    unsigned at = shared_address(&made);
    if (threadIdx.x == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" :: "r"(at), "l"(x) : "memory");
        asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], %1;" :: "r"(at), "r"(1) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(at), "r"(16) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(at), "r"(4) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" :: "r"(at), "r"(16) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(at), "r"(rows) : "memory");
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" :: "r"(at), "l"(64ull) : "memory");
        asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 1, %1;" :: "r"(at), "r"(1) : "memory");
        asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 7;" :: "r"(at) : "memory");
        asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 0;" :: "r"(at) : "memory");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;"
                 :: "l"(place), "r"(at) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(place) : "memory");
    if (threadIdx.x == 0) {
        expect(&bar, 256);
        int c[] = {0, rows - 2};
        load<2>(tile, (const CUtensorMap*)place, c, &bar);
    }
    wait(&bar, 0);
    for (int i = threadIdx.x; i < 64; i += 32) y[i] = ((float*)tile)[i];
}

// Hints that change nothing.
extern "C" __global__ void prefetched(MAP, const float* x, float* y) {
    asm volatile("prefetch.tensormap [%0];" :: "l"(&m) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" :: "l"(&m), "r"(0), "r"(0) : "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(x), "r"(64) : "memory");
    y[threadIdx.x] = x[threadIdx.x];
}

// Pixels out of shared memory, then the same ones added.
extern "C" __global__ void pixels_stored(MAP, const unsigned* in, int bytes, int w, int n) {
    unsigned* words = (unsigned*)tile;
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%0, {%1, %2, %3}], {%4};"
                 :: "l"(&m), "r"(0), "r"(w), "r"(n), "h"((unsigned short)0) : "memory");
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) words[i] = in[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %2, %3}], [%4];"
                     :: "l"(&m), "r"(0), "r"(w), "r"(n), "r"(shared_address(tile)) : "memory");
        commit();
        wait_all();
        asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.im2col_no_offs.bulk_group [%0, {%1, %2, %3}], [%4];"
                     :: "l"(&m), "r"(0), "r"(w), "r"(n), "r"(shared_address(tile)) : "memory");
        commit();
        wait_all();
    }
}
