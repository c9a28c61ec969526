// y = a + b + c over [D0, D1, D2] with strides; a stride of 0 broadcasts.
struct Strides {
    int s[3];
};

extern "C" __global__ void broadcast_add(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
                                         float* __restrict__ y, Strides sa, Strides sb, Strides sc, int d0, int d1, int d2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= d0 * d1 * d2) return;
    int k = i % d2;
    int j = (i / d2) % d1;
    int h = i / (d2 * d1);
    float va = a[h * sa.s[0] + j * sa.s[1] + k * sa.s[2]];
    float vb = b[h * sb.s[0] + j * sb.s[1] + k * sb.s[2]];
    float vc = c[h * sc.s[0] + j * sc.s[1] + k * sc.s[2]];
    y[i] = (va + vb) + vc;
}
