// Folds to the mean and the sum of the squared distances from it.
struct Fold {
    long long count;
    float middle, squares;
    static __device__ Fold none() { return {0, 0.0f, 0.0f}; }
    template <int N>
    __device__ __forceinline__ void add(const T_self (&x)[N], long long at, long long step) {
        float value[N];
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            value[i] = kg::to_float(x[i]);
            sum += value[i];
        }
        Fold few = {N, sum / N, 0.0f};
#pragma unroll
        for (int i = 0; i < N; ++i) {
            few.squares = fmaf(value[i] - few.middle, value[i] - few.middle, few.squares);
        }
        join(few);
    }
    __device__ __forceinline__ void join(const Fold& other) {
        if (count == 0 || other.count == 0) {
            // Nothing is added to: the products below could overflow.
            *this = count == 0 ? other : *this;
            return;
        }
        const float apart = other.middle - middle;
        const float before = static_cast<float>(count);
        count += other.count;
        const float share = static_cast<float>(other.count) / static_cast<float>(count);
        middle = fmaf(apart, share, middle);
        squares += other.squares + apart * apart * (before * share);
    }
    __device__ Fold of_lane(int offset) const {
        return {__shfl_xor_sync(0xffffffffu, count, offset), __shfl_xor_sync(0xffffffffu, middle, offset),
                __shfl_xor_sync(0xffffffffu, squares, offset)};
    }
};

__device__ void finish(const Fold& fold, long long o, long long n, long long count, First* first, Second* second,
                       float option) {
    store(first, second, o, fold.squares / fmaxf(static_cast<float>(count) - option, 0.0f), fold.middle);
}
#include "fold.cuh"
