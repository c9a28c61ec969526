// Folds to the largest element and the sum of the exponentials relative to it.
struct Fold {
    float largest, sum;
    static __device__ Fold none() { return {-INFINITY, 0.0f}; }
    // An infinite maximum is the result; the exponentials are then of the elements as they are.
    __device__ __forceinline__ float shift() const { return isinf(largest) ? 0.0f : largest; }
    // NaN is no maximum; it comes back through the sum.
    __device__ __forceinline__ void raise(float top) {
        if (top > largest) {
            const float before = shift();
            largest = top;
            // A sum of nothing, or of NaN, stays as it is, whatever the distance.
            sum = sum == 0.0f ? sum : sum * expf(before - shift());
        }
    }
    template <int N>
    __device__ __forceinline__ void add(const T_self (&x)[N], long long at, long long step) {
        float value[N];
        float top = -INFINITY;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            value[i] = static_cast<float>(kg::to_acc(x[i]));
            top = fmaxf(top, value[i]);
        }
        raise(top);
        const float base = shift();
#pragma unroll
        for (int i = 0; i < N; ++i) {
            sum += expf(value[i] - base);
        }
    }
    __device__ void join(const Fold& other) {
        raise(other.largest);
        const float part = other.sum == 0.0f ? 0.0f : other.sum * expf(other.shift() - shift());
        sum += part;
    }
    __device__ Fold of_lane(int offset) const {
        return {__shfl_xor_sync(0xffffffffu, largest, offset), __shfl_xor_sync(0xffffffffu, sum, offset)};
    }
};
