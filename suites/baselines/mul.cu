// Baseline of mul: 16-byte packs where `other` has self's layout or repeats along its first
// dimensions (a bias), indices by strides otherwise.
/*@plan
n = out.numel
m = other.numel

# Does `other` equal the last dimensions of `out`, so that element i meets element i % m?
repeats = self.contiguous and self.numel == n and other.contiguous
seen = 1
for i in range(1, other.ndim + 1):
    if seen < m and other.shape[-i] != out.shape[-i]:
        repeats = False
    seen *= other.shape[-i]

lanes = 16 // self.itemsize
aligned = self.align >= 16 and other.align >= 16 and m % lanes == 0
vec = define("VEC", lanes if repeats and aligned else 1)

if repeats and n // vec < 1 << 31:
    launch("mul_repeat", grid=cdiv(n, 256 * vec), block=256, args=[self, other, out, n, m])
elif out.ndim <= 4 and n < 1 << 31:
    # The last four extents, and each input's strides along them: 0 where it repeats.
    e1 = out.shape[-3] if out.ndim >= 3 else 1
    e2 = out.shape[-2] if out.ndim >= 2 else 1
    e3 = out.shape[-1] if out.ndim >= 1 else 1
    a0 = self.stride[-4] if self.ndim >= 4 and self.shape[-4] != 1 else 0
    a1 = self.stride[-3] if self.ndim >= 3 and self.shape[-3] != 1 else 0
    a2 = self.stride[-2] if self.ndim >= 2 and self.shape[-2] != 1 else 0
    a3 = self.stride[-1] if self.ndim >= 1 and self.shape[-1] != 1 else 0
    b0 = other.stride[-4] if other.ndim >= 4 and other.shape[-4] != 1 else 0
    b1 = other.stride[-3] if other.ndim >= 3 and other.shape[-3] != 1 else 0
    b2 = other.stride[-2] if other.ndim >= 2 and other.shape[-2] != 1 else 0
    b3 = other.stride[-1] if other.ndim >= 1 and other.shape[-1] != 1 else 0
    launch("mul_strided", grid=min(cdiv(n, 256), 16 * sm_count), block=256,
           args=[self, other, out, n, e1, e2, e3, a0, a1, a2, a3, b0, b1, b2, b3])
else:
    launch("mul_repeat", grid=cdiv(n, 256), block=256,
           args=[expand(self, out.shape), expand(other, out.shape), out, n, n])
@*/

template <class T>
struct alignas(sizeof(T) * VEC) Pack {
    T at[VEC];
};

// Integers are computed with in 64 bits, everything else in f32.
__device__ __forceinline__ long long wide(long long x) { return x; }
__device__ __forceinline__ long long wide(int x) { return x; }
__device__ __forceinline__ long long wide(bool x) { return x; }
template <class T> __device__ __forceinline__ float wide(T x) { return kg::to_float(x); }

__device__ __forceinline__ T_out narrow(long long x) { return static_cast<T_out>(x); }
__device__ __forceinline__ T_out narrow(float x) { return kg::from_float<T_out>(x); }

// An input as the output's type holds it.
template <class T> __device__ __forceinline__ auto as_out(T x) {
    return wide(static_cast<T_out>(x));
}

template <class A, class B>
__device__ __forceinline__ T_out mul_of(A a, B b) {
    return narrow(as_out(a) * as_out(b));
}

// Element i of self meets element i % m of other; with VEC > 1 packs do, as VEC divides m.
extern "C" __global__ void __launch_bounds__(256)
mul_repeat(const T_self* __restrict__ self, const T_other* __restrict__ other,
           T_out* __restrict__ out, long long n, long long m) {
    const long long n_packs = n / VEC;
    const long long m_packs = m / VEC;
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n_packs) {
        return;
    }
    long long j = i;
    if (m != n) {
        j = static_cast<unsigned>(i) % static_cast<unsigned>(m_packs);
    }
    const Pack<T_self> a = reinterpret_cast<const Pack<T_self>*>(self)[i];
    const Pack<T_other> b = reinterpret_cast<const Pack<T_other>*>(other)[j];
    Pack<T_out> result;
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
        result.at[k] = mul_of(a.at[k], b.at[k]);
    }
    reinterpret_cast<Pack<T_out>*>(out)[i] = result;
}

// One element per thread and step; n is below 2^31, so unsigned division finds its place.
extern "C" __global__ void __launch_bounds__(256)
mul_strided(const T_self* __restrict__ self, const T_other* __restrict__ other,
            T_out* __restrict__ out, unsigned n, unsigned e1, unsigned e2, unsigned e3,
            long long a0, long long a1, long long a2, long long a3, long long b0, long long b1,
            long long b2, long long b3) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned i3 = i % e3;
        const unsigned rest = i / e3;
        const unsigned i2 = rest % e2;
        const unsigned i1 = rest / e2 % e1;
        const unsigned i0 = rest / e2 / e1;
        const T_self a = self[i0 * a0 + i1 * a1 + i2 * a2 + i3 * a3];
        const T_other b = other[i0 * b0 + i1 * b1 + i2 * b2 + i3 * b3];
        out[i] = mul_of(a, b);
    }
}
