// kgen's strided copy: out, contiguous, gets the elements of a view in row-major order.
template <class T>
__device__ __forceinline__ void copy(const T* __restrict__ in, T* __restrict__ out, long long numel,
                                     const long long (&extent)[8], const long long (&stride)[8]) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += step) {
    long long rest = i, from = 0;
#pragma unroll
    for (int dim = 7; dim >= 0; --dim) {
      if (extent[dim] != 1) {
        const long long above = rest / extent[dim];
        from += (rest - above * extent[dim]) * stride[dim];
        rest = above;
      }
    }
    out[i] = in[from];
  }
}

#define KGEN_COPY(NAME, T)                                                                         \
  extern "C" __global__ void NAME(                                                                 \
      const T* in, T* out, long long numel, long long n0, long long n1, long long n2,              \
      long long n3, long long n4, long long n5, long long n6, long long n7, long long s0,          \
      long long s1, long long s2, long long s3, long long s4, long long s5, long long s6,          \
      long long s7) {                                                                              \
    const long long extent[8] = {n0, n1, n2, n3, n4, n5, n6, n7};                                  \
    const long long stride[8] = {s0, s1, s2, s3, s4, s5, s6, s7};                                  \
    copy<T>(in, out, numel, extent, stride);                                                       \
  }

KGEN_COPY(kg_copy_1, unsigned char)
KGEN_COPY(kg_copy_2, unsigned short)
KGEN_COPY(kg_copy_4, unsigned int)
KGEN_COPY(kg_copy_8, unsigned long long)
