extern "C" __global__ void warp_ops(const int* x, int* y) {
  int l = threadIdx.x & 31, v = x[threadIdx.x];
  unsigned all = 0xffffffffu;
  int* o = y + threadIdx.x * 24;
  o[0] = __shfl_sync(all, v, 5);
  o[1] = __shfl_up_sync(all, v, 3);
  o[2] = __shfl_down_sync(all, v, 7);
  o[3] = __shfl_xor_sync(all, v, 9);
  o[4] = __shfl_sync(all, v, l * 3, 8);
  o[5] = __shfl_down_sync(all, v, 2, 16);
  o[6] = __ballot_sync(all, v & 1);
  o[7] = __any_sync(all, v > 90);
  o[8] = __all_sync(all, v >= 0);
  o[9] = __match_any_sync(all, v & 3);
  int pred;
  o[10] = __match_all_sync(all, v & 0, &pred);
  o[11] = pred;
  o[12] = __activemask();
  o[13] = __reduce_add_sync(all, v);
  o[14] = __reduce_min_sync(all, v);
  o[15] = __reduce_or_sync(all, (unsigned)v);
  if (v & 1) {
    unsigned m = __activemask();
    o[16] = m;
    o[17] = __popc(m & ((1u << l) - 1));
    __syncwarp(m);
    o[18] = __shfl_sync(m, v, __ffs(m) - 1);
  } else {
    o[16] = 0; o[17] = 1; o[18] = 2;
  }
  o[19] = __syncthreads_count(v & 1);
  o[20] = __syncthreads_or(v > 98);
  o[21] = __syncthreads_and(v >= 0);
  unsigned half = l < 16 ? 0xffffu : 0xffff0000u;
  o[22] = __reduce_add_sync(half, v);
  o[23] = __shfl_xor_sync(half, v, 1);
}
