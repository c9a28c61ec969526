/*@plan
x = contiguous(self)
axis = dim + x.ndim if dim < 0 else dim
length = x.shape[axis] if x.ndim > 0 else 1
inner = 1
for i in range(axis + 1, x.ndim):
    inner *= x.shape[i]
slices = x.numel // max(length, 1)
launch("scan", grid=cdiv(slices, 64), block=64, args=[x, out, slices, length, inner])
@*/
#include <cuda/std/type_traits>

template <class T> constexpr bool whole = cuda::std::is_same<kg::acc_t<T>, long long>::value;
using Acc = kg::acc_t<T_out>;

__device__ Acc take(T_self s) {
    if constexpr (whole<T_out> && whole<T_self>) {
        return static_cast<T_out>(kg::to_acc(s));
    } else if constexpr (whole<T_out>) {
        return static_cast<T_out>(static_cast<long long>(kg::to_float(s)));
    } else {
        return kg::to_float(s);
    }
}

// A thread per slice.
extern "C" __global__ void scan(const T_self* __restrict__ in, T_out* __restrict__ out, long long slices, long long length, long long inner) {
    const long long slice = blockIdx.x * 64ll + threadIdx.x;
    if (slice >= slices) {
        return;
    }
    const long long base = slice / inner * length * inner + slice % inner;
    Acc sum = @EMPTY@;
    for (long long k = 0; k < length; ++k) {
        sum = sum @OP@ take(in[base + k * inner]);
        if constexpr (whole<T_out>) {
            out[base + k * inner] = static_cast<T_out>(sum);
        } else {
            out[base + k * inner] = kg::from_float<T_out>(sum);
        }
    }
}
