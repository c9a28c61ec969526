// kgen's prelude: what nvcc users expect and NVRTC lacks. Included before the first line.
#pragma once

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
typedef long long intmax_t;
typedef unsigned long long uintmax_t;

#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fffffff)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000LL)
#endif
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LONG_MIN (-9223372036854775807L - 1)
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MIN (-9223372036854775807LL - 1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#endif
#ifndef INT32_MAX
#define INT8_MIN SCHAR_MIN
#define INT8_MAX SCHAR_MAX
#define UINT8_MAX UCHAR_MAX
#define INT16_MIN SHRT_MIN
#define INT16_MAX SHRT_MAX
#define UINT16_MAX USHRT_MAX
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN LLONG_MIN
#define INT64_MAX LLONG_MAX
#define UINT64_MAX ULLONG_MAX
#define SIZE_MAX ULLONG_MAX
#endif

// A tensor map: what `tensor_map` of a plan makes, for a parameter `const __grid_constant__ CUtensorMap`.
typedef struct alignas(64) CUtensorMap_st { uint64_t opaque[16]; } CUtensorMap;

namespace kg {
// The lowered name of an instance spells the parameter types of a kernel; never defined.
template <class _KgF> __global__ void sig();

// Converts a tensor's element to float.
template <class _KgT> __device__ __forceinline__ float to_float(_KgT x) { return static_cast<float>(x); }
// Converts a float to a tensor's element, rounding to nearest even; toward zero for integers.
template <class _KgT> __device__ __forceinline__ _KgT from_float(float x) { return static_cast<_KgT>(x); }

// What a tensor's elements are computed in: float, but double for double and long long for
// integers and bool.
template <class _KgT> struct acc { using type = float; };
template <> struct acc<double> { using type = double; };
#define KGEN_ACC(T) template <> struct acc<T> { using type = long long; };
KGEN_ACC(bool) KGEN_ACC(char) KGEN_ACC(signed char) KGEN_ACC(unsigned char) KGEN_ACC(short)
KGEN_ACC(unsigned short) KGEN_ACC(int) KGEN_ACC(unsigned int) KGEN_ACC(long)
KGEN_ACC(unsigned long) KGEN_ACC(long long) KGEN_ACC(unsigned long long)
#undef KGEN_ACC
template <class _KgT> using acc_t = typename acc<_KgT>::type;

// Converts a tensor's element to what it is computed in.
template <class _KgT> __device__ __forceinline__ acc_t<_KgT> to_acc(_KgT x) {
  return static_cast<acc_t<_KgT>>(x);
}
template <class _KgT> struct store {
  template <class _KgA> static __device__ __forceinline__ _KgT from(_KgA x) {
    return static_cast<_KgT>(static_cast<acc_t<_KgT>>(x));
  }
};
template <> struct store<bool> {
  template <class _KgA> static __device__ __forceinline__ bool from(_KgA x) { return x != _KgA(0); }
};
// Converts a computed value to a tensor's element: rounding to nearest even for floating-point
// types (fp8 saturates), modulo the range for integers, unlike 0 for bool.
template <class _KgT, class _KgA> __device__ __forceinline__ _KgT from_acc(_KgA x) {
  return store<_KgT>::from(x);
}
} // namespace kg
