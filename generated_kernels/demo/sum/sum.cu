/*@plan
x = contiguous(self)
nd = max(self.ndim, 1)                    # a 0-dim tensor is one summed dimension of extent 1
mask = 0
if self.ndim > 0 and has(dim):
    for j in range(len(dim)):
        mask = mask | (1 << (dim[j] + nd if dim[j] < 0 else dim[j]))
if mask == 0:
    mask = (1 << nd) - 1
runs = 0
for i in range(nd):
    if (mask >> i) & 1 == 1 and (mask >> (i + 1)) & 1 == 0:
        runs += 1
block = param("BLOCK", [256, 128, 512])
wide = 16 // x.itemsize
src = ptr(x, 0)
done = 0
r = 1
inner = 1
v = 1
for i in range(nd):
    d = nd - 1 - i
    size = self.shape[d] if self.ndim > 0 else 1
    if (mask >> d) & 1 == 0:
        inner = inner * size
    else:
        r = r * size
        if d == 0 or (mask >> (d - 1)) & 1 == 0:
            outer = 1
            for k in range(d):
                outer = outer * self.shape[k]
            if done == 0:
                along = r if inner == 1 else inner
                v = define("VEC", wide if x.align >= 16 and along % wide == 0 else 1)
            else:
                v = 1
            in_f32 = 0 if done == 0 else 1
            done += 1
            last = done == runs
            dst = ptr(out, 0) if last else ptr(scratch(max(outer * inner * 4, 16)), 0)
            out_f32 = 0 if last else 1
            tiles = cdiv(inner, 32 * v)
            if inner == 1:
                parts = min(cdiv(2 * sm_count, max(outer, 1)), cdiv(r, 4096))
            else:
                parts = min(cdiv(4 * sm_count, max(outer * tiles, 1)), cdiv(r, 64))
            chunk = max(align_up(cdiv(r, max(parts, 1)), 8), 8)
            parts = max(cdiv(r, chunk), 1)
            to = dst
            to_f32 = out_f32
            if parts > 1:
                to = ptr(scratch(max(outer * parts * inner * 4, 16)), 0)
                to_f32 = 1
            if inner == 1:
                lanes = 32 if min(chunk, r) <= 1024 else block
                launch("sum_rows", grid=cdiv(outer * parts, block // lanes), block=block, args=[src, to, in_f32, to_f32, outer, r, chunk, parts, lanes])
                if parts > 1:
                    launch("sum_rows", grid=cdiv(outer, block // 32), block=block, args=[to, dst, 1, out_f32, outer, parts, parts, 1, 32])
            else:
                launch("sum_cols", grid=tiles * outer * parts, block=block, args=[src, to, in_f32, to_f32, r, inner, chunk, parts])
                if parts > 1:
                    launch("sum_cols", grid=cdiv(inner, 32) * outer, block=block, args=[to, dst, 1, out_f32, parts, inner, parts, 1])
            src = dst
            r = 1
@*/
template <class T, int V> struct alignas(V * sizeof(T)) Pack { T v[V]; };

// [outer, r] -> [outer, parts]; `lanes` threads (a warp or the whole block) sum one chunk of a row
template <class I, class O, int V>
__device__ __forceinline__ void rows_body(const I* __restrict__ x, O* __restrict__ y, float* partial,
                                          long long outer, long long r, long long chunk, long long parts, int lanes) {
  const long long item = static_cast<long long>(blockIdx.x) * (BLOCK / lanes) + threadIdx.x / lanes;
  const int lane = threadIdx.x % lanes;
  const bool live = item < outer * parts;
  float sum = 0.0f;
  if (live) {
    const long long row = item / parts;
    const long long lo = (item % parts) * chunk;
    const long long hi = lo + chunk < r ? lo + chunk : r;
    const I* in = x + row * r;
    for (long long i = lo + static_cast<long long>(lane) * V; i < hi; i += static_cast<long long>(lanes) * V) {
      const Pack<I, V> p = *reinterpret_cast<const Pack<I, V>*>(in + i);
#pragma unroll
      for (int k = 0; k < V; ++k) sum += kg::to_float(p.v[k]);
    }
  }
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (lanes > 32) {                       // the same for the whole launch
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int w = 0; w < BLOCK / 32; ++w) sum += partial[w];
  }
  if (live && lane == 0) y[item] = kg::from_float<O>(sum);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
sum_rows(const void* src, void* dst, int in_f32, int out_f32, long long outer, long long r,
         long long chunk, long long parts, int lanes) {
  __shared__ float partial[BLOCK / 32];
  if (in_f32) {
    const float* x = static_cast<const float*>(src);
    if (out_f32) rows_body<float, float, 1>(x, static_cast<float*>(dst), partial, outer, r, chunk, parts, lanes);
    else rows_body<float, T_out, 1>(x, static_cast<T_out*>(dst), partial, outer, r, chunk, parts, lanes);
  } else {
    const T_self* x = static_cast<const T_self*>(src);
    if (out_f32) rows_body<T_self, float, VEC>(x, static_cast<float*>(dst), partial, outer, r, chunk, parts, lanes);
    else rows_body<T_self, T_out, VEC>(x, static_cast<T_out*>(dst), partial, outer, r, chunk, parts, lanes);
  }
}

// [outer, r, inner] -> [outer, parts, inner]; a block sums one chunk of r for 32 * V columns
template <class I, class O, int V>
__device__ __forceinline__ void cols_body(const I* __restrict__ x, O* __restrict__ y, float* part,
                                          long long r, long long inner, long long chunk, long long parts) {
  const int tx = threadIdx.x % 32;
  const int ty = threadIdx.x / 32;
  const long long tiles = (inner + 32 * V - 1) / (32 * V);
  const long long tile = blockIdx.x % tiles;
  const long long item = blockIdx.x / tiles;          // outer * parts + part
  const long long o = item / parts;
  const long long lo = (item % parts) * chunk;
  const long long hi = lo + chunk < r ? lo + chunk : r;
  const long long col = (tile * 32 + tx) * V;
  float sum[V];
#pragma unroll
  for (int k = 0; k < V; ++k) sum[k] = 0.0f;
  if (col < inner) {                                  // inner is a multiple of V
    for (long long j = lo + ty; j < hi; j += BLOCK / 32) {
      const Pack<I, V> p = *reinterpret_cast<const Pack<I, V>*>(x + (o * r + j) * inner + col);
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += kg::to_float(p.v[k]);
    }
  }
#pragma unroll
  for (int k = 0; k < V; ++k) part[(ty * V + k) * 32 + tx] = sum[k];
  __syncthreads();
  if (ty == 0 && col < inner) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      float total = 0.0f;
      for (int w = 0; w < BLOCK / 32; ++w) total += part[(w * V + k) * 32 + tx];
      y[item * inner + col + k] = kg::from_float<O>(total);
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
sum_cols(const void* src, void* dst, int in_f32, int out_f32, long long r, long long inner,
         long long chunk, long long parts) {
  __shared__ float part[BLOCK * VEC];
  if (in_f32) {
    const float* x = static_cast<const float*>(src);
    if (out_f32) cols_body<float, float, 1>(x, static_cast<float*>(dst), part, r, inner, chunk, parts);
    else cols_body<float, T_out, 1>(x, static_cast<T_out*>(dst), part, r, inner, chunk, parts);
  } else {
    const T_self* x = static_cast<const T_self*>(src);
    if (out_f32) cols_body<T_self, float, VEC>(x, static_cast<float*>(dst), part, r, inner, chunk, parts);
    else cols_body<T_self, T_out, VEC>(x, static_cast<T_out*>(dst), part, r, inner, chunk, parts);
  }
}
