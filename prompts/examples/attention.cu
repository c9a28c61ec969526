/*@plan
b, h, queries, depth = query.shape
keys = key.shape[2]
fits = cc == 90 and depth % 8 == 0 and depth <= 128 and b * h <= 65535 and min(out.numel, keys) > 0
for x in [query, key, value]:
    fits = fits and x.stride[3] == 1 and x.align >= 16 and (x.stride[0] | x.stride[1] | x.stride[2]) % 8 == 0
    for d in range(3):
        fits = fits and (x.shape[d] == 1 or x.stride[d] >= depth)
define("BF16", query.dtype == "bf16")
define("DEPTH", 64 if depth <= 64 else 128)     # columns beyond those of the tensors are loaded as 0
padded = 64 if depth <= 64 else 128
if fits:
    q = tensor_map(query, box=[1, 1, 128, 64], swizzle=128, l2=256)
    k = tensor_map(key, box=[1, 1, 128, 64], swizzle=128, l2=256)
    v = tensor_map(value, box=[1, 1, 128, 64], swizzle=128, l2=256)
    launch("attention", grid=(cdiv(queries, 128), b * h), block=384, smem=5 * 128 * padded * 2,
           args=[q, k, v, out, queries, keys, depth, h])
else:
    launch("attention_plain", grid=b * h * queries, block=32, smem=4 * keys,
           args=[query, key, value, out, queries, keys, depth, h,
                 query.stride[0], query.stride[1], query.stride[2], query.stride[3], key.stride[0], key.stride[1],
                 key.stride[2], key.stride[3], value.stride[0], value.stride[1], value.stride[2], value.stride[3]])
@*/
#include <kg/hopper.cuh>

__device__ T_out twice(float x) { return kg::from_float<T_out>(2.0f * x); }

// A warp per query, its scores in shared memory.
extern "C" __global__ void attention_plain(
    const T_query* __restrict__ query, const T_key* __restrict__ key, const T_value* __restrict__ value,
    T_out* __restrict__ out, int queries, int keys, int depth, int heads, long long qb, long long qh, long long qn,
    long long qd, long long kb, long long kh, long long kn, long long kd, long long vb, long long vh, long long vn, long long vd) {
  extern __shared__ float score[];
  const int batch = blockIdx.x / queries / heads, head = blockIdx.x / queries % heads, lane = threadIdx.x;
  query += batch * qb + head * qh + blockIdx.x % queries * qn;
  key += batch * kb + head * kh;
  value += batch * vb + head * vh;
  float top = -INFINITY, total = 0.0f;
  for (int j = lane; j < keys; j += 32) {
    float s = 0.0f;
    for (int d = 0; d < depth; ++d) s = fmaf(kg::to_float(query[d * qd]), kg::to_float(key[j * kn + d * kd]), s);
    score[j] = s * rsqrtf(static_cast<float>(depth));
    top = fmaxf(top, score[j]);
  }
  for (int o = 16; o > 0; o /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, o));
  for (int j = lane; j < keys; j += 32) total += score[j] = expf(score[j] - top);
  for (int o = 16; o > 0; o /= 2) total += __shfl_xor_sync(0xffffffffu, total, o);
  __syncwarp();
  for (int d = lane; d < depth; d += 32) {
    float sum = 0.0f;
    for (int j = 0; j < keys; ++j) sum = fmaf(score[j], kg::to_float(value[j * vn + d * vd]), sum);
    out[static_cast<long long>(blockIdx.x) * depth + d] = twice(keys > 0 ? sum / total : 0.0f);
  }
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr int TILE = 128, STAGES = 2;           // queries and keys of a tile
constexpr kg::mma TYPE = BF16 ? kg::mma::bf16 : kg::mma::f16;
struct Tiles {                                  // boxes of 64 columns below each other, 128-byte swizzled
  T_query q[TILE * DEPTH];
  T_key k[STAGES][TILE * DEPTH];
  T_value v[STAGES][TILE * DEPTH];
};
struct alignas(4) Pair { T_query x, y; };

__device__ void load(void* to, const CUtensorMap* map, uint64_t* bar, int row, int head, int batch) {
  kg::mbarrier_arrive_expect_tx(bar, TILE * DEPTH * 2);
  for (int d = 0; d < DEPTH; d += 64) kg::tma_load(static_cast<T_query*>(to) + d * TILE, map, bar, d, row, head, batch);
}

// One thread loads, two warpgroups have 64 queries each. Scores never leave the registers: the sums of wgmma are laid
// out as its left factor is. The values of one tile are multiplied while the softmax of the next is computed.
extern "C" __global__ void __launch_bounds__(384, 1)
attention(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
          const __grid_constant__ CUtensorMap map_v, T_out* __restrict__ out, int queries, int keys, int depth, int heads) {
  extern __shared__ __align__(1024) unsigned char dynamic[];
  Tiles& tiles = *reinterpret_cast<Tiles*>(dynamic);
  __shared__ uint64_t full_q, full_k[STAGES], full_v[STAGES], empty_k[STAGES], empty_v[STAGES];
  if (threadIdx.x == 0) {
    kg::mbarrier_init(&full_q, 1);
    for (int s = 0; s < STAGES; ++s) {
      kg::mbarrier_init(&full_k[s], 1);
      kg::mbarrier_init(&full_v[s], 1);
      kg::mbarrier_init(&empty_k[s], 2);        // one arrival per multiplying warpgroup
      kg::mbarrier_init(&empty_v[s], 2);
    }
    kg::fence_mbarrier_init();
  }
  __syncthreads();
  const int batch = blockIdx.y / heads, head = blockIdx.y % heads, query0 = blockIdx.x * TILE, steps = (keys + TILE - 1) / TILE;
  if (threadIdx.x < 128) {
    kg::registers_dec<40>();
    if (threadIdx.x == 0) {
      load(tiles.q, &map_q, &full_q, query0, head, batch);
      for (int step = 0; step < steps; ++step) {
        const int s = step % STAGES, parity = step / STAGES % 2 ^ 1;      // passes at once in the first round
        kg::mbarrier_wait(&empty_k[s], parity);
        load(tiles.k[s], &map_k, &full_k[s], step * TILE, head, batch);
        kg::mbarrier_wait(&empty_v[s], parity);
        load(tiles.v[s], &map_v, &full_v[s], step * TILE, head, batch);
      }
    }
    return;
  }
  kg::registers_inc<232>();
  const int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 32;
  const float factor = 1.4426950408889634f * rsqrtf(static_cast<float>(depth));   // exp(x) = exp2(x log2(e))
  // Sum 4 j + 2 h + x of a thread is at row lane / 4 + 8 h of its warp's 16, and column 8 j + lane % 4 * 2 + x.
  float sum[DEPTH / 2] = {}, score[TILE / 2], top[2] = {-INFINITY, -INFINITY}, total[2] = {}, rescale[2];
  unsigned weight[TILE / 16][4];

  auto multiply_keys = [&](int step) {
    kg::mbarrier_wait(&full_k[step % STAGES], step / STAGES % 2);
    const uint64_t a = kg::wgmma_descriptor<128>(&tiles.q[group * 64 * 64]);
    const uint64_t b = kg::wgmma_descriptor<128>(tiles.k[step % STAGES]);
    kg::wgmma_fence();
#pragma unroll
    for (int d = 0; d < DEPTH; d += 16) {       // 32 bytes of a row; the next 64 columns are a box further
      const int bytes = d / 64 * TILE * 128 + d % 64 * 2;
      kg::wgmma<TYPE, TILE>(score, kg::wgmma_advance(a, bytes), kg::wgmma_advance(b, bytes), d > 0);
    }
    kg::wgmma_commit();
  };
  auto multiply_values = [&](int step) {
    kg::mbarrier_wait(&full_v[step % STAGES], step / STAGES % 2);
    const uint64_t b = kg::wgmma_descriptor<128>(tiles.v[step % STAGES], TILE * 128, 1024);   // next box, next 8 keys
    kg::wgmma_fence();
#pragma unroll
    for (int k = 0; k < TILE; k += 16) kg::wgmma<TYPE, DEPTH, 1>(sum, weight[k / 16], kg::wgmma_advance(b, k * 128));
    kg::wgmma_commit();
  };
  auto softmax = [&](int step) {                // scores become weights; rows are shared by four threads
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float now = top[h], part = 0.0f;
#pragma unroll
      for (int i = 0; i < TILE / 4; ++i) {
        float& s = score[i / 2 * 4 + h * 2 + i % 2];
        if (step * TILE + i / 2 * 8 + lane % 4 * 2 + i % 2 >= keys) s = -INFINITY;       // a mask would stand here too
        now = fmaxf(now, s);
      }
      now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 1));
      now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, 2));
      const float base = now == -INFINITY ? 0.0f : now * factor;
      rescale[h] = exp2f(fmaf(top[h], factor, -base));
      top[h] = now;
#pragma unroll
      for (int i = 0; i < TILE / 4; ++i) {
        float& s = score[i / 2 * 4 + h * 2 + i % 2];
        part += s = exp2f(fmaf(s, factor, -base));
      }
      total[h] = total[h] * rescale[h] + part;
    }
  };
  auto round_weights = [&] {
#pragma unroll
    for (int i = 0; i < TILE / 4; ++i) {
      const Pair pair = {kg::from_float<T_query>(score[2 * i]), kg::from_float<T_query>(score[2 * i + 1])};
      weight[i / 4][i % 4] = *reinterpret_cast<const unsigned*>(&pair);
    }
  };

  kg::mbarrier_wait(&full_q, 0);
  multiply_keys(0);
  kg::wgmma_wait<0>();
  kg::wgmma_hold(score);
  if (threadIdx.x % 128 == 0) kg::mbarrier_arrive(&empty_k[0]);
  softmax(0);
  round_weights();
  for (int step = 1; step < steps; ++step) {
    multiply_keys(step);
    multiply_values(step - 1);
    kg::wgmma_wait<1>();                        // the keys are done, the values go on
    kg::wgmma_hold(score);
    if (threadIdx.x % 128 == 0) kg::mbarrier_arrive(&empty_k[step % STAGES]);
    softmax(step);
    kg::wgmma_wait<0>();
    kg::wgmma_hold(sum);
    if (threadIdx.x % 128 == 0) kg::mbarrier_arrive(&empty_v[(step - 1) % STAGES]);
#pragma unroll
    for (int i = 0; i < DEPTH / 2; ++i) sum[i] *= rescale[i / 2 % 2];
    round_weights();
  }
  multiply_values(steps - 1);
  kg::wgmma_wait<0>();
  kg::wgmma_hold(sum);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float all = total[h];
    all += __shfl_xor_sync(0xffffffffu, all, 1);
    all += __shfl_xor_sync(0xffffffffu, all, 2);
    const int q = query0 + group * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4 + h * 8;
#pragma unroll
    for (int j = 0; j < DEPTH / 8; ++j) {
      const int column = j * 8 + lane % 4 * 2;
      T_out* to = out + (static_cast<long long>(blockIdx.y) * queries + q) * depth + column;
      const Pair pair = {twice(sum[4 * j + 2 * h] / all), twice(sum[4 * j + 2 * h + 1] / all)};
      if (q < queries && column < depth) *reinterpret_cast<Pair*>(to) = pair;
    }
  }
}
#endif
