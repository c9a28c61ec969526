/*@plan
n = self.shape[0]
c = self.shape[1]
x = contiguous(self)
wide = 16 // x.itemsize
vec = define("VEC", wide if x.align >= 16 and c % wide == 0 else 1)
block = param("BLOCK", [256, 128, 512])
lanes = 32 if c <= 1024 else block
smooth = f32(label_smoothing)
if reduction == 0:
    launch("row_loss", grid=cdiv(n, block // lanes), block=block, args=[x, target, out, None, n, c, target.stride[0], ignore_index, smooth, lanes])
else:
    losses = ptr(scratch(max(n * 4, 16)), 0)
    launch("row_loss", grid=cdiv(n, block // lanes), block=block, args=[x, target, None, losses, n, c, target.stride[0], ignore_index, smooth, lanes])
    launch("total_loss", grid=1, block=1024, args=[losses, target, out, n, target.stride[0], ignore_index, reduction])
@*/
struct alignas(VEC * sizeof(T_self)) Pack { T_self v[VEC]; };

extern "C" __global__ void __launch_bounds__(BLOCK)
row_loss(const T_self* __restrict__ x, const T_target* __restrict__ target, T_out* __restrict__ y,
         float* __restrict__ losses, long long n, long long c, long long target_stride,
         long long ignore_index, float smooth, int lanes) {
  __shared__ float part_max[BLOCK / 32];
  __shared__ float part_exp[BLOCK / 32];
  __shared__ float part_dif[BLOCK / 32];
  const long long row = static_cast<long long>(blockIdx.x) * (BLOCK / lanes) + threadIdx.x / lanes;
  const int lane = threadIdx.x % lanes;
  const int warp = threadIdx.x / 32;
  if (row >= n) return;                   // whole warps, and never with lanes == BLOCK
  const long long t = target[row * target_stride];
  if (t == ignore_index) {                // the same for all that share the row
    if (lane == 0) {
      if (y) y[row] = kg::from_float<T_out>(0.0f);
      else losses[row] = 0.0f;
    }
    return;
  }
  const T_self* logits = x + row * c;
  const Pack* in = reinterpret_cast<const Pack*>(logits);
  const long long packs = c / VEC;

  float m = -INFINITY;
  for (long long i = lane; i < packs; i += lanes) {
    const Pack p = in[i];
#pragma unroll
    for (int k = 0; k < VEC; ++k) m = fmaxf(m, kg::to_float(p.v[k]));
  }
  for (int d = 16; d > 0; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  if (lanes > 32) {
    if (threadIdx.x % 32 == 0) part_max[warp] = m;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < BLOCK / 32; ++w) m = fmaxf(m, part_max[w]);
  }

  float sum = 0.0f;                       // of exp(x - max)
  float dif = 0.0f;                       // of x - max
  for (long long i = lane; i < packs; i += lanes) {
    const Pack p = in[i];
#pragma unroll
    for (int k = 0; k < VEC; ++k) {
      const float d = kg::to_float(p.v[k]) - m;
      sum += expf(d);
      dif += d;
    }
  }
  for (int d = 16; d > 0; d >>= 1) {
    sum += __shfl_xor_sync(0xffffffffu, sum, d);
    dif += __shfl_xor_sync(0xffffffffu, dif, d);
  }
  if (lanes > 32) {
    if (threadIdx.x % 32 == 0) {
      part_exp[warp] = sum;
      part_dif[warp] = dif;
    }
    __syncthreads();
    sum = 0.0f;
    dif = 0.0f;
#pragma unroll
    for (int w = 0; w < BLOCK / 32; ++w) {
      sum += part_exp[w];
      dif += part_dif[w];
    }
  }
  if (lane == 0) {
    const float lse = logf(sum);
    float loss = lse - (kg::to_float(logits[t]) - m);
    if (smooth != 0.0f)
      loss = (1.0f - smooth) * loss + smooth * (lse - dif / static_cast<float>(c));
    if (y) y[row] = kg::from_float<T_out>(loss);
    else losses[row] = loss;
  }
}

extern "C" __global__ void __launch_bounds__(1024)
total_loss(const float* __restrict__ losses, const T_target* __restrict__ target, T_out* __restrict__ y,
           long long n, long long target_stride, long long ignore_index, int reduction) {
  __shared__ float part_sum[32];
  __shared__ int part_count[32];
  float sum = 0.0f;
  int count = 0;
  for (long long i = threadIdx.x; i < n; i += 1024) {
    sum += losses[i];
    count += target[i * target_stride] != ignore_index;
  }
  for (int d = 16; d > 0; d >>= 1) {
    sum += __shfl_xor_sync(0xffffffffu, sum, d);
    count += __shfl_xor_sync(0xffffffffu, count, d);
  }
  if (threadIdx.x % 32 == 0) {
    part_sum[threadIdx.x / 32] = sum;
    part_count[threadIdx.x / 32] = count;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    long long rows = 0;
    for (int w = 0; w < 32; ++w) {
      total += part_sum[w];
      rows += part_count[w];
    }
    if (reduction == 1) total = total / static_cast<float>(rows);
    y[0] = kg::from_float<T_out>(total);
  }
}
