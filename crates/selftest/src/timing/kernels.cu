// Kernels whose time is known, or depends on one thing, for `kgen selftest --timing`.

// Values in [-1, 1) that differ from element to element: zeros would draw less power.
extern "C" __global__ void noise(float* x, long long n, unsigned seed) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        unsigned h = (unsigned)i * 2654435761u ^ seed;
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        x[i] = (float)(int)h * (1.0f / 2147483648.0f);
    }
}

// One thread waits for `ns` nanoseconds.
extern "C" __global__ void spin(unsigned long long ns) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < ns);
}

// Reads and writes n floats.
extern "C" __global__ void relu(const float4* x, float4* y, long long n) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += stride) {
        float4 v = x[i];
        v.x = fmaxf(v.x, 0.0f);
        v.y = fmaxf(v.y, 0.0f);
        v.z = fmaxf(v.z, 0.0f);
        v.w = fmaxf(v.w, 0.0f);
        y[i] = v;
    }
}

// Reads n floats and writes one per block.
extern "C" __global__ void total(const float4* x, float* y, long long n) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += stride) {
        const float4 v = x[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (int step = 16; step > 0; step >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    }
    __shared__ float warps[32];
    if (threadIdx.x % 32 == 0) {
        warps[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / 32; ++w) {
            sum += warps[w];
        }
        y[blockIdx.x] = sum;
    }
}

// Transposes a square matrix by tiles of 32.
extern "C" __global__ void transpose(const float* x, float* y, long long n) {
    __shared__ float tile[32][33];
    const long long row = blockIdx.y * 32ll, column = blockIdx.x * 32ll;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        tile[j][threadIdx.x] = x[(row + j) * n + column + threadIdx.x];
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        y[(column + j) * n + row + threadIdx.x] = tile[threadIdx.x][j];
    }
}

// Reads n floats from scattered places; n is a power of two.
extern "C" __global__ void gather(const float* x, float* y, long long n) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = x[(i * 2654435761ll) & (n - 1)];
    }
}

// Arithmetic alone: `n` dependent multiply-adds in each of four chains.
extern "C" __global__ void chain(float* y, long long n) {
    float a = threadIdx.x, b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
    for (long long i = 0; i < n; ++i) {
        a = fmaf(a, 0.999f, 0.5f);
        b = fmaf(b, 0.999f, 0.5f);
        c = fmaf(c, 0.999f, 0.5f);
        d = fmaf(d, 0.999f, 0.5f);
    }
    y[(long long)blockIdx.x * blockDim.x + threadIdx.x] = (a + b) + (c + d);
}
