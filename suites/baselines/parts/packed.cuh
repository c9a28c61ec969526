// Two numbers in a type of 16 bits, the first in the lower half.
template <class T>
__device__ __forceinline__ unsigned packed(float x, float y) {
    const T low = kg::from_float<T>(x);
    const T high = kg::from_float<T>(y);
    return __builtin_bit_cast(unsigned short, low) | __builtin_bit_cast(unsigned short, high) << 16;
}
