#pragma once
namespace std {
template <class _KgT> __device__ constexpr const _KgT& max(const _KgT& a, const _KgT& b) { return a < b ? b : a; }
template <class _KgT> __device__ constexpr const _KgT& min(const _KgT& a, const _KgT& b) { return b < a ? b : a; }
template <class _KgT> __device__ constexpr const _KgT& clamp(const _KgT& x, const _KgT& low, const _KgT& high) {
  return x < low ? low : high < x ? high : x;
}
template <class _KgT> __device__ constexpr void swap(_KgT& a, _KgT& b) { _KgT c = a; a = b; b = c; }
} // namespace std
