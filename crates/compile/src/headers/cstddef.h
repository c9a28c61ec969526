#pragma once
namespace std {
using ::size_t;
using ::ptrdiff_t;
using nullptr_t = decltype(nullptr);
} // namespace std
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
