// Baseline of isin: one thread per element compares it with all others.
/*@plan
x = contiguous(elements)
y = contiguous(test_elements)
launch("isin", grid=min(cdiv(out.numel, 256), 16 * sm_count), block=256,
       args=[x, y, out, out.numel, y.numel, invert])
@*/

// Integers are compared in 64 bits unless the other is none; everything else in f32.
__device__ long long number(long long x) { return x; }
__device__ long long number(int x) { return x; }
__device__ long long number(short x) { return x; }
__device__ long long number(signed char x) { return x; }
__device__ long long number(unsigned char x) { return x; }
template <class T> __device__ float number(T x) { return kg::to_float(x); }

extern "C" __global__ void __launch_bounds__(256)
isin(const T_elements* __restrict__ x, const T_test_elements* __restrict__ y, T_out* __restrict__ out,
     long long n, long long others, bool invert) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += step) {
        bool found = false;
        for (long long k = 0; k < others && !found; ++k) {
            found = number(x[i]) == number(y[k]);
        }
        out[i] = found != invert;
    }
}
