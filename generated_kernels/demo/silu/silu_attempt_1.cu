/*@plan
x = contiguous(self)
n = out.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 else 1)
block = param("BLOCK", [256, 128, 512])
launch("silu", grid=min(cdiv(n, block * vec), 16 * sm_count), block=block, args=[x, out, n])
@*/
template <typename T>
struct alignas(VEC * sizeof(T)) Pack { T v[VEC]; };

static __device__ __forceinline__ T_out silu_one(T_self v) {
  const float x = kg::to_float(v);
  return kg::from_float<T_out>(x / (1.0f + expf(-x)));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
silu(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
  const long long packs = n / VEC;
  const long long first = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
  const long long step = static_cast<long long>(gridDim.x) * BLOCK;
  const Pack<T_self>* in = reinterpret_cast<const Pack<T_self>*>(x);
  Pack<T_out>* to = reinterpret_cast<Pack<T_out>*>(y);
  for (long long i = first; i < packs; i += step) {
    const Pack<T_self> p = in[i];
    Pack<T_out> o;
#pragma unroll
    for (int k = 0; k < VEC; ++k) o.v[k] = silu_one(p.v[k]);
    to[i] = o;
  }
  const long long t = packs * VEC + first;   // the tail: fewer than VEC elements
  if (t < n) y[t] = silu_one(x[t]);
}
