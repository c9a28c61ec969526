// 64-bit integer mixing, division, bit counts and high products.
extern "C" __global__ void hash64(const unsigned int* __restrict__ key, long long* __restrict__ hash, long long* __restrict__ quotient,
                                  int* __restrict__ bits, unsigned long long seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long z = key[i] + seed * (unsigned long long)(i + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    hash[i] = (long long)(z >> 11);
    long long a = (long long)z >> 12;
    long long b = (long long)(key[i] % 1000u) - 500;
    if (b == 0) b = 7;
    quotient[2 * i] = a / b;
    quotient[2 * i + 1] = a % b;
    bits[3 * i] = __popcll(z) + 100 * __clzll(z);
    bits[3 * i + 1] = __ffsll(z) + (int)(__brevll(z) >> 50);
    bits[3 * i + 2] = (int)(__umul64hi(z, 1000003ULL) & 0xfffff);
}
