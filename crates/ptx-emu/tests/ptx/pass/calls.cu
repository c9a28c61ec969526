struct Params { int n; float scale; double shift; long long stride; short tag[3]; };
__device__ __noinline__ long long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ float apply(const Params p, float x) { return p.scale * x + (float)p.shift + p.tag[2]; }
__device__ __noinline__ void two(int a, int* lo, int* hi) { *lo = a & 15; *hi = a >> 4; }
extern "C" __global__ void fibonacci(long long* y) { y[threadIdx.x] = fib(threadIdx.x); }
extern "C" __global__ void by_value(Params p, const float* x, float* y) {
  int i = threadIdx.x;
  if (i < p.n) y[i] = apply(p, x[i * p.stride]);
}
extern "C" __global__ void by_pointer(const int* x, int* y) {
  int lo, hi;
  two(x[threadIdx.x], &lo, &hi);
  y[threadIdx.x] = lo * 1000 + hi;
}
typedef int (*Fn)(int);
__device__ __noinline__ int inc(int a) { return a + 1; }
__device__ __noinline__ int dbl(int a) { return a * 2; }
__device__ __noinline__ int neg(int a) { return -a; }
__device__ Fn table[3] = {inc, dbl, neg};
extern "C" __global__ void by_table(int* y) { y[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x); }
extern "C" __global__ void switched(const int* x, int* y) {
  int v = x[threadIdx.x], r;
  switch (v) {
    case 0: r = 10; break;
    case 1: r = v * 7 + threadIdx.x; break;
    case 2: r = v << threadIdx.x; break;
    case 3: r = ~v; break;
    case 4: r = v / (1 + (int)threadIdx.x); break;
    case 5: r = v % 3; break;
    case 6: r = 1000; break;
    case 7: for (r = 0; r < v * 100; r += 3) {} break;
    default: r = -1;
  }
  y[threadIdx.x] = r;
}
extern "C" __global__ void local_array(const int* x, int* y) {
  int a[16];
  for (int i = 0; i < 16; ++i) a[i] = x[i] * i;
  int j = x[threadIdx.x] & 15;
  a[j] += 5;
  y[threadIdx.x] = a[j] + a[(j + threadIdx.x) & 15];
}
extern "C" __global__ void early_return(const int* x, int* y, int n) {
  __shared__ int s[64];
  if (threadIdx.x >= n) return;
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[n - 1 - threadIdx.x];
}
