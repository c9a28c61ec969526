// Kernels of one access pattern each, for `kgen bench memory`. All take the same parameters: buffers, the bytes
// of each, and a number whose meaning is the kernel's own.

typedef unsigned long long u64;

#define KERNEL(name) \
    extern "C" __global__ void __launch_bounds__(256) name(char* a, char* b, char* c, u64 bytes, unsigned k)

__device__ __forceinline__ u64 first() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 step() { return (u64)gridDim.x * blockDim.x; }

__device__ __forceinline__ unsigned fold(unsigned v) { return v; }
__device__ __forceinline__ unsigned fold(uint2 v) { return v.x ^ v.y; }
__device__ __forceinline__ unsigned fold(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

// A use of what was read, so that it is read: one thread in 2^32 writes.
__device__ __forceinline__ void use(unsigned v, char* a) {
    if (v == 0x9e3779b9u) {
        *(unsigned*)a = v;
    }
}

__device__ __forceinline__ u64 hash(u64 x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

// Reads n elements, four loads in flight in each thread; `place` says where the i-th is.
template <typename T, typename Place>
__device__ __forceinline__ unsigned read_all(const T* x, u64 n, Place place) {
    const u64 s = step();
    u64 i = first();
    unsigned sum = 0;
    for (; i + 3 * s < n; i += 4 * s) {
        const T v0 = x[place(i)], v1 = x[place(i + s)];
        const T v2 = x[place(i + 2 * s)], v3 = x[place(i + 3 * s)];
        sum ^= fold(v0) ^ fold(v1) ^ fold(v2) ^ fold(v3);
    }
    for (; i < n; i += s) {
        sum ^= fold(x[place(i)]);
    }
    return sum;
}

template <typename T>
__device__ __forceinline__ void read_as(char* a, u64 bytes) {
    use(read_all((const T*)a, bytes / sizeof(T), [](u64 i) { return i; }), a);
}

KERNEL(nothing) {}

// Bytes that differ from place to place: zeros would draw less power.
KERNEL(noise) {
    for (u64 i = first(); i < bytes / 8; i += step()) {
        ((u64*)a)[i] = hash(i + k);
    }
}

KERNEL(read4) { read_as<unsigned>(a, bytes); }
KERNEL(read8) { read_as<uint2>(a, bytes); }
KERNEL(read16) { read_as<uint4>(a, bytes); }

KERNEL(write16) {
    const u64 n = bytes / 16, s = step();
    const uint4 v = make_uint4(threadIdx.x, blockIdx.x, k, 7u);
    uint4* x = (uint4*)a;
    u64 i = first();
    for (; i + 3 * s < n; i += 4 * s) {
        x[i] = v;
        x[i + s] = v;
        x[i + 2 * s] = v;
        x[i + 3 * s] = v;
    }
    for (; i < n; i += s) {
        x[i] = v;
    }
}

// b becomes a.
KERNEL(copy16) {
    const u64 n = bytes / 16, s = step();
    const uint4* x = (const uint4*)a;
    uint4* y = (uint4*)b;
    u64 i = first();
    for (; i + 3 * s < n; i += 4 * s) {
        const uint4 v0 = x[i], v1 = x[i + s], v2 = x[i + 2 * s], v3 = x[i + 3 * s];
        y[i] = v0;
        y[i + s] = v1;
        y[i + 2 * s] = v2;
        y[i + 3 * s] = v3;
    }
    for (; i < n; i += s) {
        y[i] = x[i];
    }
}

__device__ __forceinline__ float4 fma4(float4 x, float4 y) {
    return make_float4(x.x + 3.0f * y.x, x.y + 3.0f * y.y, x.z + 3.0f * y.z, x.w + 3.0f * y.w);
}

// c becomes a + 3 b.
KERNEL(triad16) {
    const u64 n = bytes / 16, s = step();
    const float4 *x = (const float4*)a, *y = (const float4*)b;
    float4* z = (float4*)c;
    u64 i = first();
    for (; i + s < n; i += 2 * s) {
        const float4 x0 = x[i], y0 = y[i], x1 = x[i + s], y1 = y[i + s];
        z[i] = fma4(x0, y0);
        z[i + s] = fma4(x1, y1);
    }
    for (; i < n; i += s) {
        z[i] = fma4(x[i], y[i]);
    }
}

// As many sectors of 32 bytes as there are, each drawn; two neighbouring threads read one.
KERNEL(random32) {
    const u64 n_sectors = bytes / 32;
    const auto place = [=](u64 i) { return 2 * __umul64hi(hash(i >> 1), n_sectors) + (i & 1); };
    use(read_all((const uint4*)a, 2 * n_sectors, place), a);
}

// Every k-th element.
KERNEL(stride) {
    const auto place = [=](u64 i) { return i * k; };
    use(read_all((const unsigned*)a, bytes / 4 / k, place), a);
}

// From the k-th element on, 32 elements less than there are.
KERNEL(offset) {
    if (bytes > 128) {
        const auto place = [=](u64 i) { return i + k; };
        use(read_all((const unsigned*)a, bytes / 4 - 32, place), a);
    }
}

// One cycle through all lines of 128 bytes, of which there are a power of two: a linear congruential generator
// with a full period. b is where a chase goes on.
KERNEL(link) {
    const u64 n = bytes / 128;
    for (u64 i = first(); i < n; i += step()) {
        *(u64*)(a + 128 * i) = (i * 1664525ull + 1013904223ull) & (n - 1);
    }
    if (first() == 0) {
        *(u64*)b = 0;
    }
}

// k loads, each of which needs the one before.
KERNEL(chase) {
    u64 at = *(u64*)b;
    for (unsigned i = 0; i < k; ++i) {
        at = *(const u64*)(a + 128 * at);
    }
    *(u64*)b = at;
}
