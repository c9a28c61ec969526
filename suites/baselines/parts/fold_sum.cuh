// Folds to the sum of the numbers that `term` makes of the elements, of type Acc.
struct Fold {
    Acc sum;
    static __device__ Fold none() { return {0}; }
    template <int N>
    __device__ __forceinline__ void add(const T_self (&x)[N], long long at, long long step) {
        Acc part = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) {
            part += static_cast<Acc>(term(x[i]));
        }
        sum += part;
    }
    __device__ void join(const Fold& other) { sum += other.sum; }
    __device__ Fold of_lane(int offset) const { return {__shfl_xor_sync(0xffffffffu, sum, offset)}; }
};
