/*@plan
require(out.ndim < 5)
l, e = query.shape[-2], query.shape[-1]
s = key.shape[-2]
v = value.shape[-1]
heads = out.shape[-3] if out.ndim > 2 else 1
batch = out.shape[-4] if out.ndim > 3 else 1
q1 = query.stride[-3] if query.ndim > 2 and query.shape[-3] > 1 else 0
q2 = query.stride[-4] if query.ndim > 3 and query.shape[-4] > 1 else 0
k1 = key.stride[-3] if key.ndim > 2 and key.shape[-3] > 1 else 0
k2 = key.stride[-4] if key.ndim > 3 and key.shape[-4] > 1 else 0
v1 = value.stride[-3] if value.ndim > 2 and value.shape[-3] > 1 else 0
v2 = value.stride[-4] if value.ndim > 3 and value.shape[-4] > 1 else 0
kshare = heads // key.shape[-3] if enable_gqa and key.ndim > 2 else 1
vshare = heads // value.shape[-3] if enable_gqa and value.ndim > 2 else 1
m0, m1, m2, m3 = 0, 0, 0, 0
if has(attn_mask):
  m0 = attn_mask.stride[-1] if attn_mask.ndim > 0 and attn_mask.shape[-1] > 1 else 0
  m1 = attn_mask.stride[-2] if attn_mask.ndim > 1 and attn_mask.shape[-2] > 1 else 0
  m2 = attn_mask.stride[-3] if attn_mask.ndim > 2 and attn_mask.shape[-3] > 1 else 0
  m3 = attn_mask.stride[-4] if attn_mask.ndim > 3 and attn_mask.shape[-4] > 1 else 0
launch("attend", grid=batch * heads * l * cdiv(v, 128), block=128,
       args=[query, key, value, attn_mask, out, heads, l, s, e, v, q2, q1, query.stride[-2], query.stride[-1],
             k2, k1, key.stride[-2], key.stride[-1], v2, v1, value.stride[-2], value.stride[-1],
             m3, m2, m1, m0, kshare, vshare, 1 if is_causal else 0, f32(scale) if has(scale) else f32(-1.0), 1 if has(scale) else 0])
@*/
#include <cuda/std/type_traits>
// A block per row and 128 columns of the output: online softmax over chunks of 128 keys.
extern "C" __global__ void __launch_bounds__(128)
attend(const T_query* __restrict__ query, const T_key* __restrict__ key, const T_value* __restrict__ value,
       const T_attn_mask* __restrict__ mask, T_out* __restrict__ out, long long heads, long long l, long long s, long long e,
       long long v, long long q2, long long q1, long long q_row, long long q_col, long long k2, long long k1,
       long long k_row, long long k_col, long long v2, long long v1, long long v_row, long long v_col, long long m3,
       long long m2, long long m1, long long m0, long long kshare, long long vshare, int causal, float scale, int scaled) {
  __shared__ float p[128];
  __shared__ float top[4];
  const int tid = threadIdx.x;
  const long long tiles = (v + 127) / 128;
  const long long row = blockIdx.x / tiles % l, col = blockIdx.x % tiles * 128 + tid;
  const long long head = blockIdx.x / tiles / l % heads, item = blockIdx.x / tiles / l / heads;
  const T_query* q = query + item * q2 + head * q1 + row * q_row;
  const T_key* k = key + item * k2 + head / kshare * k1;
  const T_value* val = value + item * v2 + head / vshare * v1;
  if (mask) mask += item * m3 + head * m2 + row * m1;
  if (!scaled) scale = rsqrtf(static_cast<float>(e));
  float most = -INFINITY, sum = 0, acc = 0;
  for (long long j0 = 0; j0 < s; j0 += 128) {
    const long long j = j0 + tid;
    bool seen = j < s && !(causal && j > row);
    float score = -INFINITY;
    if (seen) {
      float d = 0;
      for (long long i = 0; i < e; ++i) d = fmaf(kg::to_float(q[i * q_col]), kg::to_float(k[j * k_row + i * k_col]), d);
      score = d * scale;
      if (mask) {
        if constexpr (cuda::std::is_same_v<T_attn_mask, bool>) {
          seen = mask[j * m0];
        } else {
          const float more = kg::to_float(mask[j * m0]);
          score += more;
          seen = more != -INFINITY;
        }
      }
      if (!seen) score = -INFINITY;
    }
    float high = score;
    for (int d = 16; d > 0; d /= 2) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, d));
    if (tid % 32 == 0) top[tid / 32] = high;
    const int some = __syncthreads_or(seen);
    const float now = fmaxf(most, fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2], top[3])));
    p[tid] = seen ? expf(score - now) : -1.0f;
    __syncthreads();  // probabilities are complete
    if (some) {
      const float old = most == -INFINITY ? 0.0f : expf(most - now);
      sum *= old;
      acc *= old;
      const int many = s - j0 < 128 ? static_cast<int>(s - j0) : 128;
      for (int t = 0; t < many; ++t) {
        const float w = p[t];
        if (w == -1.0f) continue;
        sum += w;
        if (col < v) acc = fmaf(w, kg::to_float(val[(j0 + t) * v_row + col * v_col]), acc);
      }
      most = now;
    }
    __syncthreads();  // p and top are free
  }
  if (col < v) out[((item * heads + head) * l + row) * v + col] = kg::from_float<T_out>(sum == 0.0f ? 0.0f : acc / sum);
}
