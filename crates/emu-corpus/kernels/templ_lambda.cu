// Lambdas, templates, structs by value, constants, function pointers, recursion and a switch.
template <typename F> __device__ __forceinline__ void grid_for(int n, F f) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}
struct Params { int shape[4]; long long stride[4]; float alpha; bool flag; };
struct alignas(16) Vec8 { float v[8]; };
__constant__ float coef[16] = {0.5f, -1.0f, 0.25f, 2.0f, -0.125f, 1.5f};
__device__ __noinline__ float poly(float x, int deg) { float r = 0.f; for (int i = deg; i >= 0; --i) r = r * x + coef[i]; return r; }
__device__ __noinline__ Vec8 mix(Vec8 a, const Vec8& b, float t) { Vec8 r; for (int i = 0; i < 8; i++) r.v[i] = a.v[i] + t * (b.v[i] - a.v[i]); return r; }
extern "C" __global__ void strided(const float* x, float* y, __grid_constant__ const Params p) {
    int n = p.shape[0] * p.shape[1] * p.shape[2] * p.shape[3];
    grid_for(n, [=](int i) {
        long long off = 0; int rem = i;
        #pragma unroll
        for (int d = 3; d >= 0; --d) { off += (rem % p.shape[d]) * p.stride[d]; rem /= p.shape[d]; }
        float v = x[off] * p.alpha;
        y[i] = p.flag ? poly(v, 5) : v;
    });
}
extern "C" __global__ void mixk(const Vec8* a, const Vec8* b, Vec8* c, float t, int n) { grid_for(n, [&](int i) { c[i] = mix(a[i], b[i], t); }); }
typedef float (*op_t)(float, float);
__device__ float opadd(float a, float b) { return a + b; }
__device__ float opmul(float a, float b) { return a * b; }
__device__ op_t ops[2] = { opadd, opmul };
extern "C" __global__ void indirect(const float* a, const float* b, const int* which, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = ops[which[i] & 1](a[i], b[i]);
}
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void rec(int* o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = fib(i % 10); }
extern "C" __global__ void sw(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    switch (x[i] & 7) {
        case 0: y[i] = i / 7; break;
        case 1: y[i] = i % 13; break;
        case 2: y[i] = i * i; break;
        case 3: y[i] = -i; break;
        case 4: y[i] = i >> 3; break;
        case 5: y[i] = x[i] ^ 0x55; break;
        default: y[i] = (int)(((long long)i * 0x12345678LL) >> 32);
    }
}
