extern "C" __global__ void ints(const int* a, const int* b, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int p = a[i], q = b[i];
  unsigned u = p, w = q;
  int* o = y + i * 32;
  o[0] = p + q; o[1] = p - q; o[2] = p * q; o[3] = q ? p / q : 0; o[4] = q ? p % q : 0;
  o[5] = w ? u / w : 0; o[6] = w ? u % w : 0; o[7] = __mulhi(p, q); o[8] = __umulhi(u, w);
  o[9] = p << (q & 31); o[10] = p >> (q & 31); o[11] = u >> (w & 31); o[12] = __popc(u); o[13] = __clz(p);
  o[14] = __brev(u); o[15] = __byte_perm(u, w, 0x6240); o[16] = __funnelshift_l(u, w, q); o[17] = __funnelshift_r(u, w, q);
  o[18] = __ffs(p); o[19] = min(p, q); o[20] = max(u, w); o[21] = abs(p); o[22] = __sad(p, q, 7);
  o[23] = __dp4a(p, q, 11); o[24] = (u & w) | (~u ^ w); o[25] = (int)(((long long)p * q) >> 20);
  o[26] = (int)((unsigned long long)u * w % 1000003ull); o[27] = (short)p * (short)q; o[28] = (unsigned char)p + (signed char)q;
  o[29] = __vadd2(p, q); o[30] = (int)(((long long)p << 7) / (q | 1)); o[31] = __umul24(u, w);
}
extern "C" __global__ void casts(const float* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  int* o = y + i * 12;
  o[0] = (int)v; o[1] = (unsigned)v; o[2] = __float2int_rn(v); o[3] = __float2int_ru(v); o[4] = __float2int_rd(v);
  long long l = (long long)v; o[5] = (int)l; o[6] = (int)(l >> 32); o[7] = __float_as_int((float)(double)v);
  o[8] = __float_as_int((float)(int)v); o[9] = (char)(int)v; o[10] = __float_as_int(__int2float_rz((int)v * 77777)); o[11] = (unsigned char)__float2uint_rz(v);
}
