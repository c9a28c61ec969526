// 3x3 median filter with clamped borders: insertion sort in a local array.
extern "C" __global__ void median3x3(const float* __restrict__ img, float* __restrict__ out, int H, int W) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    float v[9];
    int count = 0;
    #pragma unroll 1
    for (int dy = -1; dy <= 1; ++dy) {
        #pragma unroll 1
        for (int dx = -1; dx <= 1; ++dx) {
            int yy = min(max(y + dy, 0), H - 1);
            int xx = min(max(x + dx, 0), W - 1);
            float p = img[yy * W + xx];
            int j = count;
            while (j > 0 && v[j - 1] > p) {
                v[j] = v[j - 1];
                --j;
            }
            v[j] = p;
            ++count;
        }
    }
    out[y * W + x] = v[4];
}
