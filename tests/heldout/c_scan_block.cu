/*@plan
x = contiguous(self)
axis = dim + x.ndim if dim < 0 else dim
length = x.shape[axis] if x.ndim > 0 else 1
inner = 1
for i in range(axis + 1, x.ndim):
    inner *= x.shape[i]
slices = x.numel // max(length, 1)
launch("scan", grid=slices, block=128, args=[x, out, length, inner])
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

// A block per slice: tiles of 128, scanned by doubling distances in two buffers.
extern "C" __global__ void scan(const T_self* __restrict__ in, T_out* __restrict__ out, long long length, long long inner) {
    __shared__ Acc buffers[2][128];
    const int t = threadIdx.x;
    const long long slice = blockIdx.x;
    const long long base = slice / inner * length * inner + slice % inner;
    Acc carry = @EMPTY@;
    for (long long first = 0; first < length; first += 128) {
        const long long k = first + t;
        int now = 0;
        buffers[0][t] = k < length ? take(in[base + k * inner]) : Acc(@EMPTY@);
        __syncthreads();
        for (int distance = 1; distance < 128; distance *= 2) {
            const Acc mine = buffers[now][t];
            buffers[1 - now][t] = t >= distance ? buffers[now][t - distance] @OP@ mine : mine;
            now = 1 - now;
            __syncthreads();
        }
        const Acc y = carry @OP@ buffers[now][t];
        if (k < length) {
            if constexpr (whole<T_out>) {
                out[base + k * inner] = static_cast<T_out>(y);
            } else {
                out[base + k * inner] = kg::from_float<T_out>(y);
            }
        }
        carry = carry @OP@ buffers[now][127];
        __syncthreads();
    }
}
