// Folds to the most extreme element; NaN is beyond every number.
struct Fold {
    Acc value;
    int taken;
    static __device__ Fold none() { return {0, 0}; }
    __device__ __forceinline__ void take(Acc x) {
        value = taken && !BEYOND(x, value) && x == x ? value : x;
        taken = 1;
    }
    template <int N>
    __device__ __forceinline__ void add(const T_self (&x)[N], long long at, long long step) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            take(kg::to_acc(x[i]));
        }
    }
    __device__ void join(const Fold& other) {
        if (other.taken) {
            take(other.value);
        }
    }
    __device__ Fold of_lane(int offset) const {
        return {__shfl_xor_sync(0xffffffffu, value, offset), __shfl_xor_sync(0xffffffffu, taken, offset)};
    }
};

using First = T_out;
using Second = T_out;
__device__ void finish(const Fold& fold, long long o, long long n, long long count, First* first, Second* second,
                       float option) {
    first[o] = kg::from_acc<T_out>(fold.value);
}
#include "fold.cuh"
