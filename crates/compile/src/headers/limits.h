#pragma once
namespace std {
template <class _KgT> struct numeric_limits { static constexpr bool is_specialized = false; };
#define KGEN_INTEGER_LIMITS(T, LOW, HIGH, SIGNED)                                                  \
  template <> struct numeric_limits<T> {                                                           \
    static constexpr bool is_specialized = true, is_integer = true, is_signed = SIGNED;            \
    static constexpr bool has_infinity = false, has_quiet_NaN = false;                             \
    static __device__ constexpr T min() { return LOW; }                                            \
    static __device__ constexpr T lowest() { return LOW; }                                         \
    static __device__ constexpr T max() { return HIGH; }                                           \
  };
KGEN_INTEGER_LIMITS(bool, false, true, false)
KGEN_INTEGER_LIMITS(char, CHAR_MIN, CHAR_MAX, true)
KGEN_INTEGER_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX, true)
KGEN_INTEGER_LIMITS(unsigned char, 0, UCHAR_MAX, false)
KGEN_INTEGER_LIMITS(short, SHRT_MIN, SHRT_MAX, true)
KGEN_INTEGER_LIMITS(unsigned short, 0, USHRT_MAX, false)
KGEN_INTEGER_LIMITS(int, INT_MIN, INT_MAX, true)
KGEN_INTEGER_LIMITS(unsigned int, 0, UINT_MAX, false)
KGEN_INTEGER_LIMITS(long, LONG_MIN, LONG_MAX, true)
KGEN_INTEGER_LIMITS(unsigned long, 0, ULONG_MAX, false)
KGEN_INTEGER_LIMITS(long long, LLONG_MIN, LLONG_MAX, true)
KGEN_INTEGER_LIMITS(unsigned long long, 0, ULLONG_MAX, false)
#undef KGEN_INTEGER_LIMITS
#define KGEN_FLOAT_LIMITS(T, P, INF, QNAN, DIGITS)                                                 \
  template <> struct numeric_limits<T> {                                                           \
    static constexpr bool is_specialized = true, is_integer = false, is_signed = true;             \
    static constexpr bool has_infinity = true, has_quiet_NaN = true;                               \
    static constexpr int digits = DIGITS;                                                          \
    static __device__ constexpr T min() { return P##_MIN; }                                        \
    static __device__ constexpr T lowest() { return -P##_MAX; }                                    \
    static __device__ constexpr T max() { return P##_MAX; }                                        \
    static __device__ constexpr T epsilon() { return P##_EPSILON; }                                \
    static __device__ constexpr T infinity() { return INF; }                                       \
    static __device__ constexpr T quiet_NaN() { return QNAN; }                                     \
  };
KGEN_FLOAT_LIMITS(float, FLT, INFINITY, NAN, 24)
KGEN_FLOAT_LIMITS(double, DBL, HUGE_VAL, __builtin_bit_cast(double, 0x7fffffffffffffffLL), 53)
#undef KGEN_FLOAT_LIMITS
} // namespace std
