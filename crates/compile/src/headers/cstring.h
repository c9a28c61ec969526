#pragma once
namespace std {
using ::memcpy; using ::memset;
} // namespace std
