/*@plan
w = contiguous(weight)
x = contiguous(indices)
count = indices.numel
width = weight.shape[1]
bytes = width * weight.itemsize
packed = 1 if bytes % 16 == 0 and w.align >= 16 else 0
launch("rows", grid=min(cdiv(count, 8), 10000), block=256, args=[w, x, out, count, width, bytes // 16, packed])
@*/
// A warp per row; a lane reads the index and the others get it through shared memory.
extern "C" __global__ void __launch_bounds__(256)
rows(const T_weight* __restrict__ w, const T_indices* __restrict__ x, T_out* __restrict__ out, long long count,
     long long width, long long packs, int packed) {
  __shared__ long long from[8];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (long long i = blockIdx.x * 8LL + warp; i < count; i += gridDim.x * 8LL) {
    if (lane == 0) from[warp] = x[i];
    __syncwarp();
    const long long row = from[warp];
    __syncwarp();
    if (packed) {
      const int4* source = reinterpret_cast<const int4*>(w + row * width);
      int4* to = reinterpret_cast<int4*>(out + i * width);
      for (long long p = lane; p < packs; p += 32) to[p] = __ldg(source + p);
    } else {
      for (long long p = lane; p < width; p += 32) out[i * width + p] = w[row * width + p];
    }
  }
}
