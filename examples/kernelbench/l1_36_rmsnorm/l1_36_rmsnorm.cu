/*@plan
tx = param("TILE_X", [32, 64])
ty = param("TILE_Y", [8, 16])
xc = contiguous(x)
b, c = x.shape[0], x.shape[1]
hw = x.numel // max(b * c, 1)
if c <= 64 and hw % 4 == 0 and xc.align >= 16:
    packs = hw // 4
    tiles = cdiv(packs, tx)
    launch("rms_fast", grid=b * tiles, block=(tx, ty), args=[xc, out, c, packs, tiles])
else:
    launch("rms_any", grid=cdiv(b * hw, 256), block=256, args=[xc, out, c, hw, b * hw])
@*/

// Up to 64 channels: a block takes TILE_X float4 columns, its TILE_Y rows of threads share the channels.
extern "C" __global__ void __launch_bounds__(TILE_X * TILE_Y)
rms_fast(const T_x* __restrict__ x, T_out* __restrict__ out, long long c, long long packs,
         long long tiles) {
  constexpr int R = 64 / TILE_Y;
  __shared__ float4 part[TILE_Y][TILE_X];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long b = blockIdx.x / tiles;
  const long long p = (blockIdx.x - b * tiles) * TILE_X + tx;
  const bool in = p < packs;
  const long long first = (b * c + ty) * packs + p;
  const float4* src = reinterpret_cast<const float4*>(x) + first;
  float4* dst = reinterpret_cast<float4*>(out) + first;
  const long long step = packs * TILE_Y;

  float4 v[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    v[r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (in && ty + r * TILE_Y < c) v[r] = src[r * step];
  }
  float4 s = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    s.x = fmaf(v[r].x, v[r].x, s.x);
    s.y = fmaf(v[r].y, v[r].y, s.y);
    s.z = fmaf(v[r].z, v[r].z, s.z);
    s.w = fmaf(v[r].w, v[r].w, s.w);
  }
  part[ty][tx] = s;
  __syncthreads();
  float4 t = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < TILE_Y; ++i) {
    const float4 q = part[i][tx];
    t.x += q.x;
    t.y += q.y;
    t.z += q.z;
    t.w += q.w;
  }
  const float count = static_cast<float>(c);
  const float ix = 1.0f / sqrtf(t.x / count + 1e-5f);
  const float iy = 1.0f / sqrtf(t.y / count + 1e-5f);
  const float iz = 1.0f / sqrtf(t.z / count + 1e-5f);
  const float iw = 1.0f / sqrtf(t.w / count + 1e-5f);
#pragma unroll
  for (int r = 0; r < R; ++r)
    if (in && ty + r * TILE_Y < c)
      dst[r * step] = make_float4(v[r].x * ix, v[r].y * iy, v[r].z * iz, v[r].w * iw);
}

// Any number of channels and any extent: a thread per column.
extern "C" __global__ void __launch_bounds__(256)
rms_any(const T_x* __restrict__ x, T_out* __restrict__ out, long long c, long long hw,
        long long columns) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= columns) return;
  const long long b = i / hw;
  const long long first = b * c * hw + (i - b * hw);
  float s0 = 0.0f, s1 = 0.0f;
  long long ch = 0;
  for (; ch + 1 < c; ch += 2) {
    const float u = kg::to_float(x[first + ch * hw]);
    const float w = kg::to_float(x[first + (ch + 1) * hw]);
    s0 = fmaf(u, u, s0);
    s1 = fmaf(w, w, s1);
  }
  if (ch < c) {
    const float u = kg::to_float(x[first + ch * hw]);
    s0 = fmaf(u, u, s0);
  }
  const float rms = sqrtf((s0 + s1) / static_cast<float>(c) + 1e-5f);
  for (ch = 0; ch < c; ++ch)
    out[first + ch * hw] = kg::from_float<T_out>(kg::to_float(x[first + ch * hw]) / rms);
}
