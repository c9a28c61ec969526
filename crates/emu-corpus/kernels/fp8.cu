#include <cuda_fp16.h>
#include <cuda_fp8.h>

// q = e4m3(x * scale), saturated; four elements per thread.
extern "C" __global__ void fp8_quantize(const float* __restrict__ x, unsigned char* __restrict__ q,
                                        float scale, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        float4 v = *reinterpret_cast<const float4*>(x + i);
        float2 low = make_float2(v.x * scale, v.y * scale);
        float2 high = make_float2(v.z * scale, v.w * scale);
        unsigned lo = __nv_cvt_float2_to_fp8x2(low, __NV_SATFINITE, __NV_E4M3);
        unsigned hi = __nv_cvt_float2_to_fp8x2(high, __NV_SATFINITE, __NV_E4M3);
        *reinterpret_cast<unsigned*>(q + i) = lo | (hi << 16);
    } else {
        for (int j = i; j < n; ++j) {
            q[j] = __nv_cvt_float_to_fp8(x[j] * scale, __NV_SATFINITE, __NV_E4M3);
        }
    }
}

// y[row] = scale[row] * dot(e4m3 weights of the row, x), a warp per row; cols is even.
extern "C" __global__ void fp8_matvec(const unsigned char* __restrict__ w, const float* __restrict__ scale,
                                      const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    int lane = threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    for (int i = lane * 2; i < cols; i += 64) {
        __nv_fp8x2_storage_t pair = *reinterpret_cast<const unsigned short*>(w + row * cols + i);
        __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(pair, __NV_E4M3);
        float2 v = __half22float2(__half2(raw));
        sum = fmaf(v.x, x[i], sum);
        sum = fmaf(v.y, x[i + 1], sum);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (lane == 0) {
        y[row] = sum * scale[row];
    }
}
