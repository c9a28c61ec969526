extern "C" __global__ void math_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  float* o = y + i * 24;
  o[0] = expf(v); o[1] = logf(fabsf(v)); o[2] = sinf(v); o[3] = cosf(v); o[4] = tanhf(v); o[5] = erff(v);
  o[6] = sqrtf(fabsf(v)); o[7] = rsqrtf(fabsf(v)); o[8] = powf(fabsf(v), 1.7f); o[9] = 1.f / v; o[10] = v / 3.f;
  o[11] = floorf(v); o[12] = ceilf(v); o[13] = rintf(v); o[14] = truncf(v); o[15] = roundf(v); o[16] = fmodf(v, 0.7f);
  o[17] = exp2f(v); o[18] = log1pf(fabsf(v)); o[19] = cbrtf(v); o[20] = atanf(v); o[21] = __fdividef(v, 3.f);
  o[22] = expm1f(v); o[23] = sinf(v * 1e6f);
}
extern "C" __global__ void math_f64(const double* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  double* o = y + i * 10;
  o[0] = exp(v); o[1] = log(fabs(v)); o[2] = sin(v); o[3] = tanh(v); o[4] = sqrt(fabs(v));
  o[5] = 1.0 / v; o[6] = floor(v); o[7] = erf(v); o[8] = fma(v, v, -1.0); o[9] = pow(fabs(v), 0.3);
}
