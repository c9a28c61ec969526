// kgen's own kernels for cases that are too large for the host: they make inputs, see that nobody
// changed them, and compare outputs. No header is included, so that they compile in no time.
typedef unsigned long long Word;
typedef long long Index;

struct Half { unsigned short bits; };
struct Brain { unsigned short bits; };
struct Truth { unsigned char bits; };

// --- Values as functions of their place: `Recipe` of crates/ops/src/op/counter.rs. Same bits. ---

enum Kind { NORMAL, UNIFORM, CONSTANT, INTEGER, SIGNED, LEVELS, MASK, ARANGE, TRIANGLE };

struct Recipe {
    Word key;
    int kind;
    Word at[5];
};

__device__ __forceinline__ Word mix(Word z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

__device__ __forceinline__ Word parts(Word word) {
    return (word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48);
}

__device__ __forceinline__ Index normal(Word word) {
    const Word second = mix(word + 0xd1b54a32d192ed03ull);
    const Word sum = (parts(word) + parts(second)) << 24 | (word ^ second) >> 40;
    return (Index)sum - ((8ll * 0xffff << 23) + (1ll << 23));
}

__device__ __forceinline__ double value(const Recipe& recipe, Index index) {
    const Word word = mix(recipe.key + (Word)(index + 1) * 0x9e3779b97f4a7c15ull);
    const Word* at = recipe.at;
    // No fused multiply-add: the host rounds the product, then the sum.
    switch (recipe.kind) {
    case NORMAL:
        return __dadd_rn(__longlong_as_double(at[0]),
                         __dmul_rn(__longlong_as_double(at[1]), (double)normal(word)));
    case UNIFORM:
        return __dadd_rn(__longlong_as_double(at[0]),
                         __dmul_rn(__longlong_as_double(at[1]), (double)(word >> 11)));
    case CONSTANT:
        return __longlong_as_double(at[0]);
    case INTEGER:
        if (at[2] && word % 4 == 0) return (double)(Index)at[3];
        return (double)(Index)(at[0] + __umul64hi(word, at[1]));
    case SIGNED: {
        const Word nonzero = at[3], row = at[4];
        const Word place = (Word)index % row + 7919 * ((Word)index / row);
        if (place % row * nonzero % row >= nonzero) return 0.0;
        const double magnitude = (double)(at[0] + at[1] * __umul64hi(word, at[2]));
        return word % 2 ? -magnitude : magnitude;
    }
    case LEVELS:
        return word % 4 == 0 ? -1.0 : word % 4 == 1 ? 0.0 : word % 4 == 2 ? 0.5 : 2.0;
    case ARANGE:
        return __dadd_rn(__longlong_as_double(at[0]),
                         __dmul_rn(__longlong_as_double(at[1]), (double)index));
    case TRIANGLE: {
        const Index offset = (Index)((Word)index % at[0]) - (Index)((Word)index / at[0] % at[1]);
        return __longlong_as_double(at[offset <= (Index)at[2] ? 3 : 4]);
    }
    default:
        return word >> 11 < at[0] ? 1.0 : 0.0;
    }
}

__device__ __forceinline__ unsigned short half_of(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

__device__ __forceinline__ unsigned short brain_of(float x) {
    const unsigned bits = __float_as_uint(x);
    if (x != x) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

__device__ __forceinline__ void store(double& to, double x) { to = x; }
__device__ __forceinline__ void store(float& to, double x) { to = __double2float_rn(x); }
__device__ __forceinline__ void store(Half& to, double x) { to.bits = half_of(__double2float_rn(x)); }
__device__ __forceinline__ void store(Brain& to, double x) {
    to.bits = brain_of(__double2float_rn(x));
}
__device__ __forceinline__ void store(Truth& to, double x) { to.bits = x != 0.0; }
template <class T> __device__ __forceinline__ void store(T& to, double x) { to = (T)(Index)x; }

__device__ __forceinline__ double load(double x) { return x; }
__device__ __forceinline__ double load(float x) { return x; }
__device__ __forceinline__ double load(Half x) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
    return value;
}
__device__ __forceinline__ double load(Brain x) {
    return __uint_as_float((unsigned)x.bits << 16);
}
__device__ __forceinline__ double load(Truth x) { return x.bits; }
template <class T> __device__ __forceinline__ double load(T x) { return (double)x; }

// Unsigned integers of a size.
template <int SIZE> struct Bits;
template <> struct Bits<1> { typedef unsigned char Type; };
template <> struct Bits<2> { typedef unsigned short Type; };
template <> struct Bits<4> { typedef unsigned int Type; };
template <> struct Bits<8> { typedef Word Type; };

template <class T> __device__ __forceinline__ Word bits_of(const T& x) {
    return *reinterpret_cast<const typename Bits<sizeof(T)>::Type*>(&x);
}

#define FOR_ALL(i, n)                                                                              \
    _Pragma("unroll 1")                                                                            \
    for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < n;                            \
         i += (Index)gridDim.x * blockDim.x)

template <class T> __device__ void fill(T* out, Index n, const Recipe& recipe) {
    FOR_ALL(i, n) {
        T element;
        store(element, value(recipe, i));
        out[i] = element;
    }
}

// result: how many elements differ, and the first of them.
template <class T> __device__ void same(const T* in, Index n, Word* result, const Recipe& recipe) {
    Word count = 0, first = ~0ull;
    FOR_ALL(i, n) {
        T element;
        store(element, value(recipe, i));
        if (bits_of(element) != bits_of(in[i])) {
            ++count;
            first = first < (Word)i ? first : i;
        }
    }
    if (count) {
        atomicAdd(result, count);
        atomicMin(result + 1, first);
    }
}

// --- Comparison ---

// Bits of the fraction, smallest exponent; exact types have neither.
template <class T> struct Format { enum { DIGITS = 0, LEAST = 0 }; };
template <> struct Format<double> { enum { DIGITS = 52, LEAST = -1022 }; };
template <> struct Format<float> { enum { DIGITS = 23, LEAST = -126 }; };
template <> struct Format<Half> { enum { DIGITS = 10, LEAST = -14 }; };
template <> struct Format<Brain> { enum { DIGITS = 7, LEAST = -126 }; };

// 2^n for the exponents of normal numbers, 0 below.
__device__ __forceinline__ double power(int n) {
    return n < -1022 ? 0.0 : __longlong_as_double((Index)(n + 1023) << 52);
}

__device__ __forceinline__ int exponent(double x) {
    return (int)(__double_as_longlong(x) >> 52 & 0x7ff) - 1023;
}

// How far apart two elements are: 0 for equal or nearly so, 1 to 61 for the binary logarithm of the
// distance over what counts as near, 62 where only equality counts, 63 for a NaN, an infinity or a
// sign of zero on one side only.
struct Near {
    bool exact;
    bool signed_zero;
    double ulps;      // of the right element
    double absolute;
};

template <class T> __device__ int distance(const T& left, const T& right, const Near& near) {
    if (bits_of(left) == bits_of(right)) return 0;
    const double x = load(left), y = load(right);
    if (x != x || y != y) return x != x && y != y ? 0 : 63;
    if (x == y) return near.signed_zero ? 63 : 0;
    const double gap = x < y ? y - x : x - y;
    if (gap > 1.7976931348623157e308) return 63;
    if (near.exact || Format<T>::DIGITS == 0) return 62;
    const int least = Format<T>::LEAST, of = exponent(y);
    const double ulp = power((of > least ? of : least) - Format<T>::DIGITS);
    const double allowed = fmax(near.ulps * ulp, near.absolute);
    if (gap <= allowed) return 0;
    const int above = allowed > 0.0 ? exponent(gap / allowed) + 1 : 61;
    return above < 1 ? 1 : above > 61 ? 61 : above;
}

// result: 0 to 63 count the elements by their distance, 64 those that hold the poison, 65 those that
// were listed.
template <class T>
__device__ void differ(const T* left, const T* right, Index n, Word* result, Index* list,
                       Word capacity, int least, Word poison, const Near& near) {
    __shared__ unsigned counts[66];
    for (int i = threadIdx.x; i < 66; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    FOR_ALL(i, n) {
        const T mine = left[i];
        if (bits_of(mine) == poison) atomicAdd(counts + 64, 1u);
        const int apart = distance(mine, right[i], near);
        if (apart) {
            atomicAdd(counts + apart, 1u);
            if (apart >= least) {
                const Word place = atomicAdd(result + 65, 1ull);
                if (place < capacity) list[place] = i;
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 65; i += blockDim.x) {
        if (counts[i]) atomicAdd(result + i, (Word)counts[i]);
    }
}

#define KGEN_TYPE(NAME, T)                                                                         \
    extern "C" __global__ void __launch_bounds__(256)                                              \
    kg_fill_##NAME(T* out, Index n, Word key, int kind, Word a, Word b, Word c, Word d, Word e) {  \
        const Recipe recipe = {key, kind, {a, b, c, d, e}};                                        \
        fill(out, n, recipe);                                                                      \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                              \
    kg_same_##NAME(const T* in, Index n, Word* result, Word key, int kind, Word a, Word b, Word c, \
                   Word d, Word e) {                                                               \
        const Recipe recipe = {key, kind, {a, b, c, d, e}};                                        \
        same(in, n, result, recipe);                                                               \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                              \
    kg_differ_##NAME(const T* left, const T* right, Index n, Word* result, Index* list,            \
                     Word capacity, int least, Word poison, int exact, int signed_zero,            \
                     double ulps, double absolute) {                                               \
        const Near near = {exact != 0, signed_zero != 0, ulps, absolute};                          \
        differ(left, right, n, result, list, capacity, least, poison, near);                       \
    }

// Only the types that a request has: the code goes with it from worker to worker.
#ifdef KGEN_f64
KGEN_TYPE(f64, double)
#endif
#ifdef KGEN_f32
KGEN_TYPE(f32, float)
#endif
#ifdef KGEN_f16
KGEN_TYPE(f16, Half)
#endif
#ifdef KGEN_bf16
KGEN_TYPE(bf16, Brain)
#endif
#ifdef KGEN_i64
KGEN_TYPE(i64, Index)
#endif
#ifdef KGEN_i32
KGEN_TYPE(i32, int)
#endif
#ifdef KGEN_i16
KGEN_TYPE(i16, short)
#endif
#ifdef KGEN_i8
KGEN_TYPE(i8, signed char)
#endif
#ifdef KGEN_u8
KGEN_TYPE(u8, unsigned char)
#endif
#ifdef KGEN_bool
KGEN_TYPE(bool, Truth)
#endif

// out: elements of `size` bytes at some places.
extern "C" __global__ void __launch_bounds__(256)
kg_gather(const unsigned char* in, const Index* at, unsigned char* out, Index n, int size) {
    FOR_ALL(i, n) {
        for (int byte = 0; byte < size; ++byte) out[i * size + byte] = in[at[i] * size + byte];
    }
}

// sums: two words that depend on every byte and its place. Whoever does not know the salt cannot make
// other bytes with the same sums.
extern "C" __global__ void __launch_bounds__(256)
kg_digest(const unsigned* in, Index words, Word* sums, Word salt) {
    Word first = 0, second = 0;
    FOR_ALL(i, words) {
        const Word mixed = mix(mix((Word)i + salt) ^ in[i]);
        first += mixed;
        second += mixed * (mixed >> 32);
    }
    atomicAdd(sums, first);
    atomicAdd(sums + 1, second);
}
