// y = relu(depthwise 3x3 convolution + bias), channels last, zero padding.
extern "C" __global__ void depthwise_nhwc(const float* __restrict__ x, const float* __restrict__ w,
                                          const float* __restrict__ bias, float* __restrict__ y,
                                          int batch, int height, int width, int channels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * height * width * channels) {
        return;
    }
    int c = i % channels;
    int col = i / channels % width;
    int row = i / (channels * width) % height;
    int n = i / (channels * width * height);
    float sum = bias[c];
    for (int a = -1; a <= 1; ++a) {
        for (int b = -1; b <= 1; ++b) {
            int r = row + a;
            int q = col + b;
            if (r < 0 || r >= height || q < 0 || q >= width) {
                continue;
            }
            float v = x[((n * height + r) * width + q) * channels + c];
            sum = fmaf(v, w[((a + 1) * 3 + b + 1) * channels + c], sum);
        }
    }
    y[i] = fmaxf(sum, 0.0f);
}

// Columns of a 3x3 convolution with stride 2 and padding 1: out is [channels * 9, oh * ow].
extern "C" __global__ void im2col(const float* __restrict__ x, float* __restrict__ out, int channels,
                                  int height, int width, int oh, int ow) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= channels * oh * ow) {
        return;
    }
    int q = i % ow;
    int r = i / ow % oh;
    int c = i / (ow * oh);
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
            int row = r * 2 - 1 + a;
            int col = q * 2 - 1 + b;
            bool inside = row >= 0 && row < height && col >= 0 && col < width;
            float v = inside ? x[(c * height + row) * width + col] : 0.0f;
            out[((c * 9 + a * 3 + b) * oh + r) * ow + q] = v;
        }
    }
}

// Bilinear resize of each channel, corners not aligned.
extern "C" __global__ void upsample_bilinear(const float* __restrict__ x, float* __restrict__ y, int height,
                                             int width, int out_height, int out_width) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (q >= out_width || r >= out_height) {
        return;
    }
    const float* plane = x + blockIdx.z * height * width;
    float fy = fmaxf((r + 0.5f) * height / out_height - 0.5f, 0.0f);
    float fx = fmaxf((q + 0.5f) * width / out_width - 0.5f, 0.0f);
    int y0 = (int)fy;
    int x0 = (int)fx;
    int y1 = min(y0 + 1, height - 1);
    int x1 = min(x0 + 1, width - 1);
    float dy = fy - y0;
    float dx = fx - x0;
    float top = plane[y0 * width + x0] * (1.0f - dx) + plane[y0 * width + x1] * dx;
    float bottom = plane[y1 * width + x0] * (1.0f - dx) + plane[y1 * width + x1] * dx;
    y[(blockIdx.z * out_height + r) * out_width + q] = top * (1.0f - dy) + bottom * dy;
}

// y[plane] = mean of the plane, a block of 96 threads each.
extern "C" __global__ void avgpool_global(const float* __restrict__ x, float* __restrict__ y, int size) {
    __shared__ float partial[3];
    const float* plane = x + (size_t)blockIdx.x * size;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        sum += plane[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = (partial[0] + partial[1] + partial[2]) / size;
    }
}

// Group norm over NCHW: a block of 128 threads per image and group, sums by a tree in shared memory.
extern "C" __global__ void group_norm(const float* __restrict__ x, const float* __restrict__ gamma,
                                      const float* __restrict__ beta, float* __restrict__ y, int channels,
                                      int groups, int plane, float eps) {
    __shared__ float sums[128];
    __shared__ float squares[128];
    int tid = threadIdx.x;
    int group = blockIdx.x % groups;
    int image = blockIdx.x / groups;
    int per_group = channels / groups;
    int size = per_group * plane;
    int base = (image * channels + group * per_group) * plane;
    float sum = 0.0f;
    float square = 0.0f;
    for (int i = tid; i < size; i += 128) {
        float v = x[base + i];
        sum += v;
        square = fmaf(v, v, square);
    }
    sums[tid] = sum;
    squares[tid] = square;
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (tid < stride) {
            sums[tid] += sums[tid + stride];
            squares[tid] += squares[tid + stride];
        }
        __syncthreads();
    }
    float mean = sums[0] / size;
    float variance = squares[0] / size - mean * mean;
    float scale = 1.0f / sqrtf(variance + eps);
    for (int i = tid; i < size; i += 128) {
        int channel = group * per_group + i / plane;
        y[base + i] = fmaf((x[base + i] - mean) * scale, gamma[channel], beta[channel]);
    }
}
