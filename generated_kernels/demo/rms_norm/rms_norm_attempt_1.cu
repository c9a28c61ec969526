/*@plan
n = 1
for i in range(len(normalized_shape)):
    n = n * normalized_shape[i]
direct = input.ndim == 2 and len(normalized_shape) == 1 and input.shape[-1] > 1 and input.stride[-1] == 1
x = input if direct else contiguous(input)
ld = input.stride[0] if direct else n
w = contiguous(weight) if has(weight) else None
rows = out.numel // max(n, 1)
v = 16 // x.itemsize
ok = n % v == 0 and ld % v == 0 and x.align >= 16
if has(weight):
    ok = ok and w.align >= 16
vec = define("VEC", v if ok else 1)
long_row = define("BLOCK_ROW", 1 if n > 1024 else 0)
block = param("BLOCK", [256, 128, 512])
per = 1 if n > 1024 else block // 32
launch("rms_norm", grid=min(cdiv(rows, per), 16 * sm_count), block=block, args=[x, w, out, rows, n, ld, f32(eps)])
@*/
#ifdef T_weight
typedef T_weight W;
#else
typedef T_input W;
#endif

#if BLOCK_ROW
#define TPR BLOCK
#else
#define TPR 32
#endif

template <typename T>
struct alignas(VEC * sizeof(T)) Pack { T v[VEC]; };

extern "C" __global__ void __launch_bounds__(BLOCK)
rms_norm(const T_input* __restrict__ x, const W* __restrict__ weight, T_out* __restrict__ y,
         long long rows, long long n, long long ld, float eps) {
#if BLOCK_ROW
  __shared__ float part[BLOCK / 32];
#endif
  const int t = threadIdx.x % TPR;
  const long long packs = n / VEC;
  const long long step = static_cast<long long>(gridDim.x) * (BLOCK / TPR);
  const Pack<W>* wp = reinterpret_cast<const Pack<W>*>(weight);
  for (long long row = static_cast<long long>(blockIdx.x) * (BLOCK / TPR) + threadIdx.x / TPR; row < rows; row += step) {
    const Pack<T_input>* in = reinterpret_cast<const Pack<T_input>*>(x + row * ld);
    Pack<T_out>* to = reinterpret_cast<Pack<T_out>*>(y + row * n);
    float sum = 0.0f;
    for (long long i = t; i < packs; i += TPR) {
      const Pack<T_input> p = in[i];
#pragma unroll
      for (int k = 0; k < VEC; ++k) {
        const float f = kg::to_float(p.v[k]);
        sum += f * f;
      }
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
#if BLOCK_ROW
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int k = 0; k < BLOCK / 32; ++k) sum += part[k];
    __syncthreads();                        // part is written again for the next row
#endif
    const float rstd = 1.0f / sqrtf(sum / static_cast<float>(n) + eps);
    for (long long i = t; i < packs; i += TPR) {
      const Pack<T_input> p = in[i];
      float r[VEC];
#pragma unroll
      for (int k = 0; k < VEC; ++k) r[k] = kg::to_float(p.v[k]) * rstd;
      if (weight != nullptr) {
        const Pack<W> q = wp[i];
#pragma unroll
        for (int k = 0; k < VEC; ++k) r[k] *= kg::to_float(q.v[k]);
      }
      Pack<T_out> o;
#pragma unroll
      for (int k = 0; k < VEC; ++k) o.v[k] = kg::from_float<T_out>(r[k]);
      to[i] = o;
    }
  }
}
