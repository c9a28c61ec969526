extern "C" __global__ void relu(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i + 3 < n) {
    float4 v = *reinterpret_cast<const float4*>(x + i);
    v.x = v.x > 0 ? v.x : 0; v.y = v.y > 0 ? v.y : 0; v.z = v.z > 0 ? v.z : 0; v.w = v.w > 0 ? v.w : 0;
    *reinterpret_cast<float4*>(y + i) = v;
  } else for (; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
