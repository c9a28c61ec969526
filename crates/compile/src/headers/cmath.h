#pragma once
namespace std {
using ::abs; using ::fabs; using ::fabsf; using ::fmod; using ::fmodf; using ::remainder;
using ::fma; using ::fmaf; using ::fmax; using ::fmaxf; using ::fmin; using ::fminf; using ::fdim;
using ::exp; using ::expf; using ::exp2; using ::exp2f; using ::expm1; using ::expm1f;
using ::log; using ::logf; using ::log10; using ::log10f; using ::log2; using ::log2f;
using ::log1p; using ::log1pf; using ::pow; using ::powf; using ::sqrt; using ::sqrtf;
using ::cbrt; using ::cbrtf; using ::hypot; using ::hypotf; using ::sin; using ::sinf;
using ::cos; using ::cosf; using ::tan; using ::tanf; using ::asin; using ::asinf;
using ::acos; using ::acosf; using ::atan; using ::atanf; using ::atan2; using ::atan2f;
using ::sinh; using ::sinhf; using ::cosh; using ::coshf; using ::tanh; using ::tanhf;
using ::asinh; using ::asinhf; using ::acosh; using ::acoshf; using ::atanh; using ::atanhf;
using ::erf; using ::erff; using ::erfc; using ::erfcf; using ::tgamma; using ::tgammaf;
using ::lgamma; using ::lgammaf; using ::ceil; using ::ceilf; using ::floor; using ::floorf;
using ::trunc; using ::truncf; using ::round; using ::roundf; using ::rint; using ::rintf;
using ::nearbyint; using ::nearbyintf; using ::ldexp; using ::ldexpf; using ::frexp; using ::modf;
using ::copysign; using ::copysignf; using ::nextafter; using ::isnan; using ::isinf;
using ::isfinite; using ::signbit;
} // namespace std
