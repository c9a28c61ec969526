/*@plan
nd = out.ndim
an = self.ndim
bn = other.ndim
a = self
b = other
flat = self.numel == out.numel and other.numel == out.numel and self.contiguous and other.contiguous
if nd > 4 and not flat:
    a = expand(self, out.shape)
    b = expand(other, out.shape)
    flat = True
v = 16 // out.itemsize
wide = define("WIDE", 1 if out.numel >= 1073741824 else 0)
block = param("BLOCK", [256, 128, 512])
if flat:
    vec = define("VEC", v if a.align >= 16 and b.align >= 16 else 1)
    grid = min(cdiv(out.numel, block * vec), 16 * sm_count)
    launch("mul_flat", grid=grid, block=block, args=[a, b, out, out.numel])
else:
    n0 = out.shape[nd - 1] if nd > 0 else 1
    n1 = out.shape[nd - 2] if nd > 1 else 1
    n2 = out.shape[nd - 3] if nd > 2 else 1
    a0 = a.stride[an - 1] if an > 0 and a.shape[an - 1] != 1 else 0
    a1 = a.stride[an - 2] if an > 1 and a.shape[an - 2] != 1 else 0
    a2 = a.stride[an - 3] if an > 2 and a.shape[an - 3] != 1 else 0
    a3 = a.stride[an - 4] if an > 3 and a.shape[an - 4] != 1 else 0
    b0 = b.stride[bn - 1] if bn > 0 and b.shape[bn - 1] != 1 else 0
    b1 = b.stride[bn - 2] if bn > 1 and b.shape[bn - 2] != 1 else 0
    b2 = b.stride[bn - 3] if bn > 2 and b.shape[bn - 3] != 1 else 0
    b3 = b.stride[bn - 4] if bn > 3 and b.shape[bn - 4] != 1 else 0
    vec = define("VEC", v if n0 % v == 0 else 1)
    apack = 1 if a0 == 1 and a.align >= 16 and a1 % v == 0 and a2 % v == 0 and a3 % v == 0 else 0
    bpack = 1 if b0 == 1 and b.align >= 16 and b1 % v == 0 and b2 % v == 0 and b3 % v == 0 else 0
    total = out.numel // vec
    grid = min(cdiv(total, block), 32 * sm_count)
    launch("mul_nd", grid=grid, block=block, args=[a, b, out, total, n0 // vec, n1, n2, a0, a1, a2, a3, b0, b1, b2, b3, apack, bpack])
@*/
#if WIDE
typedef unsigned long long index_t;
#else
typedef unsigned int index_t;
#endif

template <typename T>
struct alignas(VEC * sizeof(T)) Pack { T v[VEC]; };

template <typename T>
static __device__ __forceinline__ Pack<T> load_pack(const T* p, long long stride, bool packed) {
  Pack<T> r;
  if (packed) {
    r = *reinterpret_cast<const Pack<T>*>(p);
  } else if (stride == 0) {
    const T s = *p;
#pragma unroll
    for (int k = 0; k < VEC; ++k) r.v[k] = s;
  } else {
#pragma unroll
    for (int k = 0; k < VEC; ++k) r.v[k] = p[k * stride];
  }
  return r;
}

static __device__ __forceinline__ T_out product(T_self a, T_other b) {
  return kg::from_float<T_out>(kg::to_float(a) * kg::to_float(b));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
mul_flat(const T_self* __restrict__ a, const T_other* __restrict__ b, T_out* __restrict__ y, long long n) {
  const long long packs = n / VEC;
  const long long first = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * BLOCK;
  for (long long i = first; i < packs; i += step) {
    const Pack<T_self> pa = reinterpret_cast<const Pack<T_self>*>(a)[i];
    const Pack<T_other> pb = reinterpret_cast<const Pack<T_other>*>(b)[i];
    Pack<T_out> po;
#pragma unroll
    for (int k = 0; k < VEC; ++k) po.v[k] = product(pa.v[k], pb.v[k]);
    reinterpret_cast<Pack<T_out>*>(y)[i] = po;
  }
  const long long t = packs * VEC + first;   // fewer than VEC elements are left
  if (t < n) y[t] = product(a[t], b[t]);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
mul_nd(const T_self* __restrict__ a, const T_other* __restrict__ b, T_out* __restrict__ y,
       long long total, long long packs0, long long n1, long long n2,
       long long a0, long long a1, long long a2, long long a3,
       long long b0, long long b1, long long b2, long long b3, int apack, int bpack) {
  const index_t end = static_cast<index_t>(total);
  const index_t p0 = static_cast<index_t>(packs0);
  const index_t e1 = static_cast<index_t>(n1);
  const index_t e2 = static_cast<index_t>(n2);
  const index_t step = static_cast<index_t>(gridDim.x) * BLOCK;
  for (index_t i = static_cast<index_t>(blockIdx.x) * BLOCK + threadIdx.x; i < end; i += step) {
    index_t r = i / p0;
    const long long c = static_cast<long long>(i - r * p0) * VEC;
    index_t q = r / e1;
    const long long i1 = static_cast<long long>(r - q * e1);
    const index_t s = q / e2;
    const long long i2 = static_cast<long long>(q - s * e2);
    const long long i3 = static_cast<long long>(s);
    const T_self* pa = a + (c * a0 + i1 * a1 + i2 * a2 + i3 * a3);
    const T_other* pb = b + (c * b0 + i1 * b1 + i2 * b2 + i3 * b3);
    const Pack<T_self> va = load_pack<T_self>(pa, a0, apack != 0);
    const Pack<T_other> vb = load_pack<T_other>(pb, b0, bpack != 0);
    Pack<T_out> po;
#pragma unroll
    for (int k = 0; k < VEC; ++k) po.v[k] = product(va.v[k], vb.v[k]);
    reinterpret_cast<Pack<T_out>*>(y)[i] = po;
  }
}
