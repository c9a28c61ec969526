/*@plan
tx = param("TILE_X", [128, 256])
ty = param("TILE_Y", [4, 2])
b, rows, cols = x.shape[0], x.shape[1], x.shape[2]
tiles = cdiv(cols, tx)
launch("sum_dim1", grid=b * tiles, block=(tx, ty),
       args=[x, out, rows, cols, tiles, x.stride[0], x.stride[1], x.stride[2]])
@*/
extern "C" __global__ void __launch_bounds__(TILE_X * TILE_Y)
sum_dim1(const T_x* __restrict__ x, T_out* __restrict__ out, long long rows, long long cols,
         long long tiles, long long s0, long long s1, long long s2) {
  __shared__ float part[TILE_Y][TILE_X];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const long long b = blockIdx.x / tiles;
  const long long col = (blockIdx.x - b * tiles) * TILE_X + tx;
  float acc = 0.0f;
  if (col < cols) {
    const T_x* p = x + b * s0 + col * s2 + ty * s1;
    const long long step = TILE_Y * s1;
    long long left = (rows - ty + TILE_Y - 1) / TILE_Y;
    for (; left >= 16; left -= 16) {
      float v[16];
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        v[i] = kg::to_float(*p);
        p += step;
      }
#pragma unroll
      for (int d = 8; d > 0; d >>= 1)
#pragma unroll
        for (int i = 0; i < d; ++i) v[i] += v[i + d];
      acc += v[0];
    }
    for (; left > 0; --left) {
      acc += kg::to_float(*p);
      p += step;
    }
  }
  part[ty][tx] = acc;
  __syncthreads();
  if (ty == 0 && col < cols) {
    float sum = part[0][tx];
#pragma unroll
    for (int i = 1; i < TILE_Y; ++i) sum += part[i][tx];
    out[b * cols + col] = kg::from_float<T_out>(sum);
  }
}
